#include "sandbox/app/server.hpp"

#include <algorithm>
#include <cstdio>

#include "common/asio/event.hpp"
#include "common/log/log.hpp"
#include "sandbox/adapters/gxx_compile_service.hpp"
#include "sandbox/adapters/network_probe.hpp"
#include "sandbox/adapters/runner_meeting.hpp"
#include "sandbox/adapters/sandbox_service.hpp"
#include "sandbox/app/session.hpp"
#include "sandbox/core/work_layout.hpp"

namespace swage::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr int kMissing = 69, kNotWritable = 74, kNotIsolated = 77;
constexpr auto kConnectWithin = std::chrono::seconds(1);
constexpr uid_t kAgentUid = 64006;
constexpr auto kAfterWallClock = std::chrono::seconds(2400);  // so that the last score fits
constexpr auto kShutdownGrace = std::chrono::milliseconds(500);

int fail(int code, const std::string& why) {
  std::fprintf(stderr, "swage-sandboxd: %s\n", why.c_str());
  return code;
}

/// Binds to one rollout and runs its one session. Thread: the strand.
class Handler final : public SandboxHandler {
 public:
  Handler(SessionWorld world, StopSource& stop) : world_(std::move(world)), stop_(stop) {}

  Result<SandboxFacts, std::string> hello(const RolloutRef& rollout) override {
    if (rollout.rollout_id.empty()) return tl::unexpected(std::string("no rollout is named"));
    if (!bound_) bound_ = rollout;
    if (*bound_ != rollout)
      return tl::unexpected("this sandbox belongs to rollout " + bound_->rollout_id + ", attempt " +
                            std::to_string(bound_->attempt));
    return SandboxFacts{world_.config.pod_uid, world_.host.full() ? "full" : "reduced",
                        world_.host.missing};
  }

  Task<> session(SessionLink& link, StopSource& gone) override {
    const char* refusal = !bound_ ? "say Hello first" : used_ ? "one session a sandbox" : nullptr;
    if (refusal != nullptr) {
      link.end({SessionEnd::Kind::refused, refusal});
      co_return;
    }
    used_ = true;
    StopSource over;  // the worker goes, the sandbox stops, or its time is up: the first counts
    const auto from_worker = gone.on_stop([&over] { over.request(StopReason::requested); });
    const auto from_us = stop_.on_stop([&over] { over.request(StopReason::requested); });
    if (gone.stopping() || stop_.stopping()) over.request(StopReason::requested);
    asio::steady_timer life(world_.strand,
                            world_.clock.now() + world_.config.wall_clock + kAfterWallClock);
    const auto time_up = std::make_shared<bool>(true);
    life.async_wait(
        [&over, alive = std::weak_ptr<bool>(time_up)](const boost::system::error_code& cancelled) {
          if (!cancelled && alive.lock()) over.request(StopReason::deadline);
        });
    Session session(world_, link);
    const auto end = co_await session.run(over);
    log_info("session ended", {{"rollout_id", bound_->rollout_id}, {"why", end.why}});
  }

 private:
  SessionWorld world_;
  StopSource& stop_;
  std::optional<RolloutRef> bound_;
  bool used_ = false;
};

/// Makes the root directory empty and ours.
Result<void, std::string> prepare_root(const fs::path& root) {
  std::error_code code;
  fs::remove_all(root / "session", code);
  fs::remove_all(root / "scratch", code);
  fs::create_directories(root / "scratch", code);
  if (!code) fs::permissions(root, fs::perms::owner_all, code);
  if (code) return tl::unexpected("cannot make " + root.string() + ": " + code.message());
  return {};
}

CompileSettings compile_settings(const SandboxConfig& config) {
  CompileSettings out;
  out.toolchain = config.toolchain;
  out.cache_directory = config.object_cache_directory;
  out.header_directory = config.header_cache_directory;
  out.installed_header_directory = config.installed_header_directory;
  out.scratch_directory = config.root_directory / "scratch";
  out.compile_uid = config.compile_uid.value_or(kCompileUid);
  // In a pod the container around us is the compiler's.
  out.allow_reduced = config.allow_reduced || config.pod;
  out.slots = config.compile_slots;
  return out;
}

/// What of the template is compiled.
Result<std::vector<WorkFile>, std::string> bundled_files(const fs::path& work_template) {
  std::vector<WorkFile> out;
  for (const auto& name : template_sources()) {
    auto content = read_file(work_template / name);
    if (!content) return tl::unexpected(content.error().message);
    out.push_back({name, 0444, std::move(*content)});
  }
  return out;
}

void remove_stale_socket(const std::string& listen) {
  constexpr std::string_view kUnix = "unix:";
  std::error_code ignored;
  if (listen.starts_with(kUnix)) fs::remove(listen.substr(kUnix.size()), ignored);
}

}  // namespace

Task<int> make_installed_headers(asio::any_io_executor strand, Toolchain toolchain,
                                 fs::path work_template, fs::path out, StopSource& stop) {
  auto files = bundled_files(work_template);
  if (!files) co_return fail(kMissing, files.error());
  const auto scratch = out / "scratch";
  CompileSettings settings;
  settings.toolchain = std::move(toolchain);
  settings.cache_directory = scratch / "cache";
  settings.header_directory = out;
  settings.scratch_directory = scratch;
  settings.compile_uid = kCompileUid;
  settings.allow_reduced = true;  // it compiles torch's headers and our own code
  const auto clock = make_steady_clock();
  const auto made = co_await make_headers(strand, *clock, probe_host(), std::move(settings),
                                          std::move(*files), stop);
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  if (made) co_return 0;
  co_return fail(made.error().code == CompileErrc::no_space ? kNotWritable : kMissing,
                 made.error().message);
}

Task<int> serve(asio::any_io_executor strand, SandboxConfig config, fs::path program,
                StopSource& stop) {
  const auto host = config.pod ? pod_host() : probe_host(config.bubblewrap);
  if (host.root && !config.agent_uid) config.agent_uid = kAgentUid;
  if (!host.containers && !host.pod && !config.allow_reduced)
    co_return fail(kMissing, host.container_problem);
  if (!host.full()) {
    std::string missing;
    for (const auto& layer : host.missing) missing += (missing.empty() ? "" : ", ") + layer;
    log_warning("isolation is reduced", {{"missing", missing}});
  }
  if (const auto reached = co_await first_reachable(config.must_not_reach, kConnectWithin))
    co_return fail(
        kNotIsolated,
        *reached +
            " can be reached from here, so an agent could too: let the cluster's network "
            "plugin enforce NetworkPolicy, or set sandbox.requireNetworkPolicy to false");
  if (const auto ready = prepare_root(config.root_directory); !ready)
    co_return fail(kNotWritable, ready.error());
  const auto clock = make_steady_clock();
  const auto compiler = make_gxx_compile_service(strand, *clock, host, compile_settings(config));
  FrameSocket::Socket runner(strand);
  if (config.pod) {
    const auto met = co_await meet_runner(runner, config.pod->shared, stop);
    if (!met && stop.stopping()) co_return 0;
    if (!met) co_return fail(kNotWritable, met.error());
  }
  Handler handler(
      {strand, *clock, config, host, *compiler, std::move(program), config.pod ? &runner : nullptr},
      stop);
  StopSource gate_stop;
  Gate gate(strand, gate_stop);
  const auto service =
      make_sandbox_service({strand, gate, ""}, config.sandbox_token_sha256, handler);
  remove_stale_socket(config.process.listen);
  auto server = RpcServer::start(config.process.listen, {service.get()});
  if (!server) co_return fail(kMissing, server.error().message);
  if (const auto wrote = write_ready_file(config.process.ready_file, 0); !wrote)
    co_return fail(kNotWritable, wrote.error().message);
  log_info("serving",
           {{"listen", config.process.listen}, {"isolation", host.full() ? "full" : "reduced"}});
  Event stopped(strand);
  while (!stop.stopping()) co_await stopped.wait(stop);
  co_await (*server)->shut_down(kShutdownGrace);
  co_await gate.join();
  co_return 0;
}

}  // namespace swage::sandbox
