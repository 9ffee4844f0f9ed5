#include "common/asio/process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/child_descriptors.hpp"

extern char** environ;

namespace swage {
namespace {

/// Everything the child needs, prepared before fork: between fork and exec nothing may allocate.
struct Prepared {
  std::vector<std::string> env_text;
  std::vector<char*> argv;
  std::vector<char*> env;
  std::vector<ChildDescriptor> descriptors;
};

Prepared prepare(const ProcessSpec& spec) {
  Prepared out;
  for (const auto& arg : spec.argv) out.argv.push_back(const_cast<char*>(arg.c_str()));
  out.argv.push_back(nullptr);
  for (const auto& [key, value] : spec.env) {
    auto& text = out.env_text.emplace_back(key);
    text += '=';
    text += value;
  }
  for (auto& text : out.env_text) out.env.push_back(text.data());
  out.env.push_back(nullptr);
  for (const auto& [target, source] : spec.descriptors) out.descriptors.push_back({target, source});
  return out;
}

[[noreturn]] void become_child(const ProcessSpec& spec, Prepared& prepared, pid_t parent,
                               int report) {
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  report = ::fcntl(report, F_DUPFD_CLOEXEC, above_all(prepared.descriptors));
  bool ok = report >= 0;
  if (ok && spec.log) {
    const int log = ::open(spec.log->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    ok = log >= 0 && ::dup2(log, 1) >= 0 && ::dup2(log, 2) >= 0;
  }
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ok = ok && null >= 0 && ::dup2(null, 0) >= 0;
  ok = ok && keep_only(prepared.descriptors);
  if (ok && !spec.working_directory.empty()) ok = ::chdir(spec.working_directory.c_str()) == 0;
  if (ok && spec.uid) {
    ok = ::setgroups(0, nullptr) == 0 && ::setresgid(*spec.uid, *spec.uid, *spec.uid) == 0 &&
         ::setresuid(*spec.uid, *spec.uid, *spec.uid) == 0;
  }
  if (ok && spec.die_with_parent) {
    ok = ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
    if (::getppid() != parent) ::_exit(127);  // it ended before prctl
  }
  if (ok) ::execvpe(prepared.argv[0], prepared.argv.data(), prepared.env.data());
  const int error = errno;
  [[maybe_unused]] const auto told = ::write(report, &error, sizeof error);
  ::_exit(127);
}

/// Waits until a child has ended, ends what is left of its group, and reaps it: in this order, for
/// once it is reaped its number may be given to another process, and that one's group be hit.
int reap_with_group(pid_t leader) {
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(leader), &ended, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  ::kill(-leader, SIGKILL);
  int status = 0;
  while (::waitpid(leader, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

class PidfdProcess final : public Process {
 public:
  PidfdProcess(const asio::any_io_executor& strand, pid_t pid, int pidfd)
      : pid_(pid), pidfd_(strand, pidfd) {}

  PidfdProcess(const PidfdProcess&) = delete;
  PidfdProcess& operator=(const PidfdProcess&) = delete;
  ~PidfdProcess() override {
    if (status_) return;
    ::kill(-pid_, SIGKILL);
    reap_with_group(pid_);
  }

  pid_t pid() const override { return pid_; }

  void signal(int number, bool group) override {
    if (status_) return;  // reaped: the number may be somebody else's, as a process or as a group
    ::kill(group ? -pid_ : pid_, number);
  }

  Task<int> wait() override {
    if (!status_) {
      boost::system::error_code woken;
      co_await pidfd_.async_wait(asio::posix::stream_descriptor::wait_read,
                                 asio::redirect_error(asio::use_awaitable, woken));
      status_ = reap_with_group(pid_);
    }
    co_return *status_;
  }

  std::optional<int> status() const override { return status_; }

 private:
  pid_t pid_;
  asio::posix::stream_descriptor pidfd_;
  std::optional<int> status_;
};

}  // namespace

Result<std::unique_ptr<Process>, FileError> Process::start(asio::any_io_executor strand,
                                                           const ProcessSpec& spec) {
  const auto failed = [&](int error) {
    const std::error_code code(error, std::generic_category());
    const std::string name = spec.argv.empty() ? "(nothing)" : spec.argv.front();
    return tl::unexpected(FileError{code, "cannot start " + name + ": " + code.message()});
  };
  if (spec.argv.empty()) return failed(EINVAL);
  auto prepared = prepare(spec);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return failed(errno);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become_child(spec, prepared, parent, report[1]);
  const int fork_error = errno;
  ::close(report[1]);
  if (pid < 0) {
    ::close(report[0]);
    return failed(fork_error);
  }
  ::setpgid(pid, pid);  // also here: whoever is first, the group exists when we return
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(report[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  ::close(report[0]);
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (got > 0 || pidfd < 0) {
    if (got <= 0) error = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    if (pidfd >= 0) ::close(pidfd);
    return failed(error);
  }
  return std::make_unique<PidfdProcess>(std::move(strand), pid, pidfd);
}

std::map<std::string, std::string> current_environment() {
  std::map<std::string, std::string> out;
  for (char** at = environ; *at != nullptr; ++at) {
    const char* equals = std::strchr(*at, '=');
    if (equals != nullptr)
      out.emplace(std::string(*at, static_cast<std::size_t>(equals - *at)), equals + 1);
  }
  return out;
}

std::string describe_status(int wait_status) {
  if (WIFEXITED(wait_status)) return "exit code " + std::to_string(WEXITSTATUS(wait_status));
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    return "signal " + std::to_string(number) + " (" + ::strsignal(number) + ")";
  }
  return "wait status " + std::to_string(wait_status);
}

}  // namespace swage
