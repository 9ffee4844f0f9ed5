#include "sandbox/adapters/gxx_container.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "common/asio/process.hpp"
#include "common/base/files.hpp"
#include "sandbox/core/compile_plan.hpp"
#include "sandbox/core/container.hpp"

namespace swage::sandbox {
namespace {

std::string text(std::string_view view) { return std::string(view); }

/// Where things lie when there is no container: the host's own paths for the container's.
std::string host_path(std::string argument, const CompilerRun& run, const Toolchain& toolchain,
                      const ToolchainFacts& facts) {
  const std::vector<std::pair<std::string, std::string>> places{
      {text(kSourcePlace), run.source.string()},
      {text(kOutputPlace), run.output.string()},
      {text(kTorchPlace), toolchain.torch_directory.string()},
      {text(kPythonPlace), facts.python_include.string()},
      {text(kHeaderPlace), run.headers.string()},
      {text(kStubPlace), run.stubs.string()},
      {text(kCudaPlace), toolchain.cuda_directory.string()}};
  for (const auto& [place, real] : places) {
    const auto at = argument.find(place);
    const bool whole = at == 0 || (at == 2 && argument.starts_with("-L"));
    if (whole) return argument.substr(0, at) + real + argument.substr(at + place.size());
  }
  return argument;
}

/// The user that compiles, where it is another than ours. Without a container it could not reach
/// our directories.
std::optional<uid_t> other_user(const HostFacts& host, const CompileSettings& settings) {
  return host.root && host.containers ? settings.compile_uid : std::nullopt;
}

std::vector<std::string> limited(const CompilerRun& run, std::optional<uid_t> user) {
  ProcessLimits limits;
  limits.address_bytes = std::uint64_t{8} << 30;
  limits.file_bytes = std::uint64_t{run.makes_header ? 2048U : 256U} << 20;
  limits.cpu_seconds = static_cast<std::uint64_t>(run.limit.count());
  limits.processes = 64;
  std::vector<std::string> argv;
  if (user) {
    const auto id = std::to_string(*user);
    argv = {"/usr/bin/setpriv", "--reuid=" + id,   "--regid=" + id,
            "--clear-groups",   "--inh-caps=-all", "--ambient-caps=-all"};
  }
  for (auto& argument : prlimit_argv(limits)) argv.push_back(std::move(argument));
  return argv;
}

std::vector<std::string> command_line(const HostFacts& host, const CompileSettings& settings,
                                      const ToolchainFacts& facts, const CompilerRun& run) {
  const auto user = other_user(host, settings);
  auto argv = limited(run, user);
  if (!host.containers) {
    for (const auto& argument : run.argv)
      argv.push_back(host_path(argument, run, settings.toolchain, facts));
    return argv;
  }
  argv.insert(argv.end(), run.argv.begin(), run.argv.end());
  ContainerSpec spec;
  spec.bwrap = host.bwrap;
  spec.user_namespace = !host.root;
  spec.may_switch_user = user.has_value();
  spec.working_directory = kSourcePlace;
  spec.command = std::move(argv);
  using Kind = Mount::Kind;
  spec.mounts = {{Kind::read_only, run.source.string(), text(kSourcePlace)},
                 {Kind::writable, run.output.string(), text(kOutputPlace)}};
  if (run.torch) {
    spec.mounts.push_back({Kind::read_only, settings.toolchain.torch_directory / "include",
                           text(kTorchPlace) + "/include"});
    spec.mounts.push_back({Kind::read_only, facts.python_include, text(kPythonPlace)});
  }
  if (run.cuda)
    spec.mounts.push_back({Kind::read_only, settings.toolchain.cuda_directory, text(kCudaPlace)});
  if (!run.headers.empty())
    spec.mounts.push_back({Kind::read_only, run.headers.string(), text(kHeaderPlace)});
  if (!run.stubs.empty())
    spec.mounts.push_back({Kind::read_only, run.stubs.string(), text(kStubPlace)});
  return bwrap_argv(spec, host.system);
}

}  // namespace

Task<Result<CompilerEnd, CompileError>> run_compiler(asio::any_io_executor strand, Clock& clock,
                                                     const HostFacts& host,
                                                     const CompileSettings& settings,
                                                     const ToolchainFacts& toolchain,
                                                     CompilerRun run, StopSource& stop) {
  using Failed = tl::unexpected<CompileError>;
  if (!host.containers && !settings.allow_reduced)
    co_return Failed({CompileErrc::isolation_refused, host.container_problem});
  ProcessSpec spec;
  spec.argv = command_line(host, settings, toolchain, run);
  spec.env = {{"PATH", "/usr/bin:/bin"},
              {"LC_ALL", "C"},
              {"TMPDIR", host.containers ? text(kOutputPlace) : run.output.string()}};
  spec.working_directory = run.source;
  const auto log = run.output.parent_path() / (run.output.filename().string() + ".log");
  spec.log = log;
  if (const auto user = other_user(host, settings);
      user && ::chown(run.output.c_str(), *user, *user) != 0)
    co_return Failed({CompileErrc::no_space, "cannot give " + run.output.string() + " away"});
  auto process = Process::start(strand, spec);
  if (!process) co_return Failed({CompileErrc::toolchain_missing, process.error().message});
  bool late = false;
  asio::steady_timer timer(strand, clock.now() + run.limit);
  timer.async_wait([&late, &process](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    late = true;
    (*process)->signal(SIGKILL, true);
  });
  const auto hook = stop.on_stop([&process] { (*process)->signal(SIGKILL, true); });
  const int status = co_await (*process)->wait();
  // A cancelled timer still calls back once, with a reference to this frame.
  timer.cancel();
  co_await asio::post(strand, asio::use_awaitable);
  if (stop.stopping()) co_return Failed({CompileErrc::cancelled, "cancelled"});
  CompilerEnd end;
  end.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !late;
  end.diagnostics = tidy_diagnostics(read_file(log).value_or(""));
  if (late || (!end.ok && WIFSIGNALED(status)))
    end.diagnostics += "the compiler was ended: it took more than " +
                       std::to_string(run.limit.count()) + " s or too much memory\n";
  co_return end;
}

}  // namespace swage::sandbox
