#include "sandbox/adapters/gxx_compile_service.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "common/asio/gate.hpp"
#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "sandbox/adapters/file_lock.hpp"
#include "sandbox/adapters/gxx_container.hpp"
#include "sandbox/adapters/object_cache.hpp"
#include "sandbox/core/compile_plan.hpp"
#include "sandbox/core/elf_check.hpp"

namespace swage::sandbox {
namespace {

namespace fs = std::filesystem;
using Failed = tl::unexpected<CompileError>;
using Done = Result<void, CompileError>;

/// Compiler time that one compilation has left. It runs only while compilers do: the wait for a
/// slot or for somebody else's object is not the agent's.
struct Budget {
  Duration left;
};

/// A file that the compiler made; nothing if it made none, or something else under that name.
std::string made_file(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_regular_file(fs::symlink_status(path, failed))) return {};
  return read_file(path).value_or("");
}

/// What became of one translation unit.
struct UnitState {
  Result<CachedObject, CompileError> object = tl::unexpected(CompileError{});
  bool hit = false;
};

class GxxCompileService final : public CompileService {
 public:
  GxxCompileService(asio::any_io_executor strand, Clock& clock, HostFacts host,
                    CompileSettings settings)
      : strand_(std::move(strand)),
        clock_(clock),
        host_(std::move(host)),
        settings_(std::move(settings)),
        cache_(settings_.cache_directory, settings_.header_directory,
               settings_.slots > 0 ? settings_.slots : std::thread::hardware_concurrency()) {}

  Task<Result<CompileOutcome, CompileError>> compile(std::vector<WorkFile> files,
                                                     StopSource& stop) override {
    const auto start = clock_.now();
    auto outcome = co_await compile_timed(std::move(files), stop);
    if (!outcome) co_return outcome;
    // Each unit's are bounded, but there may be 64 of them, and the linker names what it misses.
    outcome->diagnostics = tidy_diagnostics(outcome->diagnostics);
    outcome->record.wall =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - start);
    co_return outcome;
  }

  Task<Done> make_headers(std::vector<WorkFile> work_template, StopSource& stop) {
    if (auto ready = examine(); !ready) co_return Failed(ready.error());
    if (auto made = co_await prepare_headers(stop); !made) co_return made;
    for (const auto& unit : template_units(work_template, settings_.toolchain.cxx, facts_.id)) {
      UnitState state;
      Budget budget{settings_.total_limit};
      co_await compile_unit(unit, state, budget, stop);
      if (!state.object) co_return Failed(state.object.error());
      if (state.object->content.empty())
        co_return Failed({CompileErrc::toolchain_missing,
                          unit.source->path + " does not compile: " + state.object->diagnostics});
      if (auto kept = cache_.keep_beside_headers(facts_.id, unit.key, *state.object); !kept)
        co_return no_space(kept.error().message);
    }
    co_return Done{};
  }

 private:
  Task<Result<CompileOutcome, CompileError>> compile_timed(std::vector<WorkFile> files,
                                                           StopSource& stop) {
    if (auto ready = examine(); !ready) co_return Failed(ready.error());
    CompileOutcome outcome;
    outcome.record.toolchain = facts_.name;
    if (const auto fits = check_bundle_files(files); !fits) {
      outcome.diagnostics = fits.error() + "\n";
      co_return outcome;
    }
    const auto plan = plan_compilation(files, settings_.toolchain.cxx, facts_.id, has_cuda());
    if (!plan) {
      outcome.diagnostics = plan.error() + "\n";
      co_return outcome;
    }
    outcome.record.argv = plan->link_argv;
    outcome.record.units = static_cast<std::uint32_t>(plan->units.size());
    for (const auto& unit : plan->units)
      outcome.record.source_sha256.push_back(sha256_hex(unit.source->content));
    std::ranges::sort(outcome.record.source_sha256);
    if (auto cached = cache_.library(plan->library_key)) {
      outcome.record.cache_hits = outcome.record.units;
      finish(outcome, std::move(*cached));
      co_return outcome;
    }
    co_return co_await build(*plan, std::move(outcome), stop);
  }

  bool has_cuda() const { return !settings_.toolchain.cuda_directory.empty(); }

  /// Finds the toolchain, once.
  Done examine() {
    if (examined_) return {};
    if (auto made = cache_.make_directories(); !made) return no_space(made.error().message);
    auto facts = examine_toolchain(settings_.toolchain);
    if (!facts) return Failed({CompileErrc::toolchain_missing, facts.error()});
    facts_ = std::move(*facts);
    headers_ready_ = cache_.use_headers_of(settings_.installed_header_directory, facts_.id);
    examined_ = true;
    return {};
  }

  static tl::unexpected<CompileError> no_space(std::string what) {
    return Failed({CompileErrc::no_space, std::move(what) + "; free space in the cache directory"});
  }

  static void finish(CompileOutcome& outcome, CachedObject library) {
    outcome.compiled = true;
    outcome.record.library_sha256 = sha256_hex(library.content);
    outcome.library = std::move(library.content);
    outcome.diagnostics = std::move(library.diagnostics);
  }

  Task<Result<CompileOutcome, CompileError>> build(const CompilePlan& plan, CompileOutcome outcome,
                                                   StopSource& stop) {
    if (auto ready = co_await prepare_headers(stop); !ready) co_return Failed(ready.error());
    std::vector<UnitState> states(plan.units.size());
    Budget budget{settings_.total_limit};
    StopSource stop_units;
    const auto hook = stop.on_stop([&] { stop_units.request(StopReason::requested); });
    Gate gate(strand_, stop_units);
    for (std::size_t i = 0; i < states.size(); ++i)
      std::ignore = gate.spawn(plan.units[i].source->path,
                               compile_unit(plan.units[i], states[i], budget, stop_units));
    co_await gate.join();
    bool all = true;
    for (auto& state : states) {
      if (!state.object) co_return Failed(state.object.error());
      outcome.diagnostics += state.object->diagnostics;
      outcome.record.cache_hits += state.hit ? 1 : 0;
      all = all && !state.object->content.empty();
    }
    outcome.diagnostics = tidy_diagnostics(outcome.diagnostics);
    if (!all) co_return outcome;
    co_return co_await link(plan, states, std::move(outcome), stop);
  }

  /// Sets state: the object, or an empty one with diagnostics, or why it could not be tried.
  Task<> compile_unit(const CompileUnit& unit, UnitState& state, Budget& budget, StopSource& stop) {
    // Held until the object is stored: whoever else wants the same one waits and finds it.
    const auto same = co_await FileLock::acquire({cache_.lock_of(unit.key)}, clock_, stop);
    if (auto cached = cache_.object(unit.key)) {
      state.object = std::move(*cached);
      state.hit = true;
      co_return;
    }
    const auto slot = co_await FileLock::acquire(cache_.slots(), clock_, stop);
    if (!same || !slot) {
      state.object = stopped_or_full(stop);
      co_return;
    }
    if (budget.left <= Duration::zero()) {
      state.object = CachedObject{{}, over_budget(unit.source->path)};
      co_return;
    }
    Scratch scratch(settings_.scratch_directory);
    if (const auto laid = scratch.lay(unit.visible); !laid) {
      state.object = no_space(laid.error().message);
      co_return;
    }
    CompilerRun run{unit.argv, scratch.source(),      scratch.output(), {}, {},
                    false,     settings_.object_limit};
    run.torch = unit.kind == CompileUnit::Kind::binding;
    run.cuda = unit.kind == CompileUnit::Kind::cuda;
    if (run.torch) run.headers = cache_.header_place(facts_.id);
    const auto start = clock_.now();
    auto end =
        co_await run_compiler(strand_, clock_, host_, settings_, facts_, std::move(run), stop);
    budget.left -= clock_.now() - start;
    if (!end) {
      state.object = Failed(end.error());
      co_return;
    }
    CachedObject object{{}, std::move(end->diagnostics)};
    if (end->ok) object.content = made_file(scratch.output() / "object.o");
    if (!object.content.empty())
      if (const auto kept = cache_.keep_object(unit.key, object); !kept) {
        state.object = no_space(kept.error().message);
        co_return;
      }
    state.object = std::move(object);
  }

  std::string over_budget(const std::string& path) const {
    return path + ": not compiled: the compilers of one compilation have " +
           std::to_string(settings_.total_limit.count()) +
           " s together, and they are used up; write fewer or simpler files\n";
  }

  static tl::unexpected<CompileError> stopped_or_full(const StopSource& stop) {
    if (stop.stopping()) return Failed({CompileErrc::cancelled, "cancelled"});
    return no_space("the lock files cannot be opened");
  }

  Task<Result<CompileOutcome, CompileError>> link(const CompilePlan& plan,
                                                  const std::vector<UnitState>& states,
                                                  CompileOutcome outcome, StopSource& stop) {
    const auto slot = co_await FileLock::acquire(cache_.slots(), clock_, stop);
    if (!slot) co_return stopped_or_full(stop);
    Scratch scratch(settings_.scratch_directory);
    std::vector<WorkFile> objects;
    objects.reserve(states.size());
    for (const auto& state : states)
      objects.push_back({std::to_string(objects.size()) + ".o", 0644, state.object->content});
    std::vector<const WorkFile*> pointers;
    pointers.reserve(objects.size());
    for (const auto& object : objects) pointers.push_back(&object);
    if (const auto laid = scratch.lay(pointers); !laid) co_return no_space(laid.error().message);
    CompilerRun run{
        plan.link_argv, scratch.source(),      scratch.output(), {}, cache_.stub_place(facts_.id),
        false,          settings_.object_limit};
    auto end =
        co_await run_compiler(strand_, clock_, host_, settings_, facts_, std::move(run), stop);
    if (!end) co_return Failed(end.error());
    CachedObject library{made_file(scratch.output() / "cuda_extension.so"), outcome.diagnostics};
    outcome.diagnostics = tidy_diagnostics(outcome.diagnostics + end->diagnostics);
    if (!end->ok) co_return outcome;
    if (const auto sane = check_library(library.content); !sane) {
      outcome.diagnostics += "link: " + sane.error() + "\n";
      co_return outcome;
    }
    if (const auto kept = cache_.keep_library(plan.library_key, library); !kept)
      co_return no_space(kept.error().message);
    finish(outcome, std::move(library));
    co_return outcome;
  }

  Result<void, std::string> check_library(const std::string& library) const {
    if (auto fits = check_bundle_library(library); !fits) return fits;
    const auto summary = read_elf(library);
    if (!summary) return tl::unexpected(summary.error());
    std::vector<std::string> known;
    const auto text = read_file(cache_.symbol_file(facts_.id)).value_or("");
    for (std::size_t at = 0; at < text.size();) {
      const auto end = text.find('\n', at);
      known.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return check_extension(*summary, known);
  }

  /// Makes precompiled header, stubs and symbol list, once for all users of the header directory.
  Task<Done> prepare_headers(StopSource& stop) {
    if (headers_ready_ || cache_.headers_complete(facts_.id)) {
      headers_ready_ = true;
      co_return Done{};
    }
    const auto lock = co_await FileLock::acquire({cache_.header_lock()}, clock_, stop);
    if (!lock) co_return stopped_or_full(stop);
    if (cache_.headers_complete(facts_.id)) co_return Done{};
    if (auto made = co_await make_header(stop); !made) co_return made;
    if (auto made = co_await make_stubs(stop); !made) co_return made;
    if (const auto wrote = write_known_symbols(settings_.toolchain, cache_.symbol_file(facts_.id));
        !wrote)
      co_return Failed({CompileErrc::toolchain_missing, wrote.error()});
    cache_.mark_headers_complete(facts_.id);
    headers_ready_ = true;
    co_return Done{};
  }

  Task<Done> make_header(StopSource& stop) {
    const auto slot = co_await FileLock::acquire(cache_.slots(), clock_, stop);
    if (!slot) co_return stopped_or_full(stop);
    Scratch scratch(settings_.scratch_directory);
    const auto place = cache_.header_place(facts_.id);
    std::error_code ignored;
    fs::create_directories(place, ignored);
    const auto wrote = write_file_durably(place / "binding.hpp", kBindingHeader);
    if (!wrote) co_return no_space(wrote.error().message);
    if (const auto laid = scratch.lay({}); !laid) co_return no_space(laid.error().message);
    CompilerRun run{precompile_argv(settings_.toolchain.cxx),
                    scratch.source(),
                    scratch.output(),
                    place,
                    {},
                    true,
                    settings_.header_limit};
    run.makes_header = true;
    const auto end =
        co_await run_compiler(strand_, clock_, host_, settings_, facts_, std::move(run), stop);
    if (!end) co_return Failed(end.error());
    if (!end->ok)
      co_return Failed({CompileErrc::toolchain_missing,
                        "torch's headers do not compile: " + end->diagnostics.substr(0, 2000)});
    const auto made = scratch.output() / "binding.hpp.gch";
    if (const auto moved = move_file(made, place / "binding.hpp.gch"); !moved)
      co_return no_space(moved.error().message);
    co_return Done{};
  }

  /// Empty libraries with torch's names: linking against the real ones, 400 MB, would take a
  /// second, and all that is wanted of them is that the loader finds them by name.
  Task<Done> make_stubs(StopSource& stop) {
    const WorkFile empty{"empty.c", 0644, "typedef int swage_empty;\n"};
    for (const auto& file : stub_files(has_cuda())) {
      Scratch scratch(settings_.scratch_directory);
      if (const auto laid = scratch.lay({&empty}); !laid) co_return no_space(laid.error().message);
      CompilerRun run{stub_argv(settings_.toolchain.cxx, file),
                      scratch.source(),
                      scratch.output(),
                      {},
                      {},
                      false,
                      settings_.object_limit};
      const auto end =
          co_await run_compiler(strand_, clock_, host_, settings_, facts_, std::move(run), stop);
      if (!end) co_return Failed(end.error());
      const auto place = cache_.stub_place(facts_.id);
      std::error_code ignored;
      fs::create_directories(place, ignored);
      if (const auto moved = move_file(scratch.output() / file, place / file); !moved)
        co_return no_space(moved.error().message);
    }
    co_return Done{};
  }

  asio::any_io_executor strand_;
  Clock& clock_;
  HostFacts host_;
  CompileSettings settings_;
  ObjectCache cache_;
  ToolchainFacts facts_;  // once examined
  bool examined_ = false;
  bool headers_ready_ = false;
};

}  // namespace

Task<Result<void, CompileError>> make_headers(asio::any_io_executor strand, Clock& clock,
                                              HostFacts host, CompileSettings settings,
                                              std::vector<WorkFile> work_template,
                                              StopSource& stop) {
  GxxCompileService service(std::move(strand), clock, std::move(host), std::move(settings));
  co_return co_await service.make_headers(std::move(work_template), stop);
}

std::unique_ptr<CompileService> make_gxx_compile_service(asio::any_io_executor strand, Clock& clock,
                                                         HostFacts host, CompileSettings settings) {
  if (settings.header_directory.empty()) settings.header_directory = settings.cache_directory;
  return std::make_unique<GxxCompileService>(std::move(strand), clock, std::move(host),
                                             std::move(settings));
}

}  // namespace swage::sandbox
