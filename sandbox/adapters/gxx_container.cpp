#include "sandbox/adapters/gxx_container.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>

#include "common/asio/process.hpp"
#include "common/base/descriptor.hpp"
#include "sandbox/core/compile_plan.hpp"
#include "sandbox/core/container.hpp"
#include "sandbox/core/text.hpp"

namespace swage::sandbox {
namespace {

std::string text(std::string_view view) { return std::string(view); }

/// What the compiler prints, read as it comes: it never waits for us, and only the two ends are
/// kept, however much it is. Touched on one strand.
class Diagnostics {
 public:
  /// False: no descriptor is left.
  bool open(const asio::any_io_executor& strand) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    theirs = Descriptor(ends[1]);
    // Only our end must not block: programs do not expect it of their stderr.
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    ours_ = std::make_shared<Reader>(strand, ends[0]);
    read_on(ours_);
    return true;
  }
  /// Once the compiler has ended: what it printed.
  std::string take() {
    while (ours_->read_some()) {
    }
    boost::system::error_code ignored;
    ours_->pipe.close(ignored);
    return ours_->kept.take();
  }
  Descriptor theirs;  ///< the compiler's end, to be closed when it has it

 private:
  struct Reader {
    Reader(const asio::any_io_executor& strand, int end) : pipe(strand, end) {}
    /// False: nothing is there now, or never will be.
    bool read_some() {
      std::array<char, 65536> buffer{};
      const auto got = ::read(pipe.native_handle(), buffer.data(), buffer.size());
      if (got > 0) kept.add({buffer.data(), static_cast<std::size_t>(got)});
      ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
      return got > 0;
    }
    asio::posix::stream_descriptor pipe;
    HeadAndTail kept{kMaxDiagnostics};
    bool ended = false;
  };
  static void read_on(std::shared_ptr<Reader> reader) {
    auto& pipe = reader->pipe;
    pipe.async_wait(asio::posix::stream_descriptor::wait_read,
                    [reader](const boost::system::error_code& error) {
                      if (error) return;
                      reader->read_some();
                      if (!reader->ended) read_on(reader);
                    });
  }
  std::shared_ptr<Reader> ours_;  // also its pending wait's
};

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
  Diagnostics diagnostics;
  if (!diagnostics.open(strand))
    co_return Failed({CompileErrc::no_space, "no descriptor is left for the compiler's output"});
  spec.descriptors = {{STDOUT_FILENO, diagnostics.theirs.get()},
                      {STDERR_FILENO, diagnostics.theirs.get()}};
  if (const auto user = other_user(host, settings);
      user && ::chown(run.output.c_str(), *user, *user) != 0)
    co_return Failed({CompileErrc::no_space, "cannot give " + run.output.string() + " away"});
  auto process = Process::start(strand, spec);
  diagnostics.theirs.reset(-1);
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
  end.diagnostics = tidy_diagnostics(diagnostics.take());
  if (late || (!end.ok && WIFSIGNALED(status)))
    end.diagnostics += "the compiler was ended: it took more than " +
                       std::to_string(run.limit.count()) + " s or too much memory\n";
  co_return end;
}

}  // namespace swage::sandbox
