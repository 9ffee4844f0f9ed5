#include "sandbox/adapters/shell_jobs.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "common/base/child_descriptors.hpp"

namespace swage::sandbox {
namespace {

/// Between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* argv, char* const* environment, const char* directory,
                         int output) {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGCHLD, SIG_DFL);
  ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) {
    [[maybe_unused]] const auto told = ::write(score, "1000", 4);  // before us, when memory ends
    ::close(score);
  }
  if (null >= 0 && ::dup2(null, 0) >= 0 && ::dup2(output, 1) >= 0 && ::dup2(output, 2) >= 0 &&
      ::chdir(directory) == 0 && keep_only({}))
    ::execve(argv[0], argv, environment);
  ::_exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::vector<pid_t> own_children() {
  const auto self = std::to_string(::getpid());
  std::ifstream in("/proc/self/task/" + self + "/children");
  std::vector<pid_t> out;
  for (pid_t child = 0; in >> child;) out.push_back(child);
  return out;
}

}  // namespace

ShellJobs::ShellJobs(asio::any_io_executor strand) : strand_(strand), children_(strand, SIGCHLD) {
  await_children();
}

void ShellJobs::stop() {
  boost::system::error_code ignored;
  children_.cancel(ignored);
  // An orphan becomes our child (process 1, or child subreaper): until there are none, none is
  // left.
  for (auto children = own_children(); !children.empty(); children = own_children()) {
    for (const auto child : children) ::kill(child, SIGKILL);
    for (const auto child : children) ::waitpid(child, nullptr, 0);
  }
}

void ShellJobs::await_children() {
  children_.async_wait([this](const boost::system::error_code& error, int) {
    if (error) return;
    reap();
    await_children();
  });
}

void ShellJobs::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto found = running_.find(pid);
    if (found == running_.end()) continue;  // an orphan that came to process 1
    if (const auto job = found->second.lock()) {
      job->status = status;
      job->changed.notify();
    }
    running_.erase(found);
  }
}

Result<std::shared_ptr<ShellJob>, std::string> ShellJobs::start(
    const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment,
    const std::filesystem::path& working_directory) {
  auto arguments = argv;
  std::vector<std::string> variables;
  variables.reserve(environment.size());
  for (const auto& [key, value] : environment) {
    auto& variable = variables.emplace_back(key);
    variable += '=';
    variable += value;
  }
  const auto argument_pointers = pointers(arguments);
  const auto variable_pointers = pointers(variables);
  std::array<int, 2> pipe{};
  const auto failed = [](int error) {
    return tl::unexpected(std::string("The command cannot be started (") + std::strerror(error) +
                          "); end background commands with KillBash.");
  };
  if (::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) return failed(errno);
  // Only our end must not block: programs do not expect it of their stdout.
  ::fcntl(pipe[1], F_SETFL, ::fcntl(pipe[1], F_GETFL) & ~O_NONBLOCK);
  const pid_t pid = ::fork();
  if (pid == 0)
    become(argument_pointers.data(), variable_pointers.data(), working_directory.c_str(), pipe[1]);
  const int error = errno;
  ::close(pipe[1]);
  if (pid < 0) {
    ::close(pipe[0]);
    return failed(error);
  }
  ::setpgid(pid, pid);  // also here: a kill that comes at once finds the group
  auto job = std::make_shared<ShellJob>(strand_);
  job->pid = pid;
  job->output_pipe.assign(pipe[0]);
  running_[pid] = job;
  read_on(job);
  return job;
}

void ShellJobs::read_on(std::shared_ptr<ShellJob> job) {
  auto& pipe = job->output_pipe;
  pipe.async_wait(asio::posix::stream_descriptor::wait_read,
                  [job](const boost::system::error_code& error) {
                    if (!error) drain(*job);
                    if (error || job->drained) return;
                    read_on(job);
                  });
}

void ShellJobs::drain(ShellJob& job) {
  std::array<char, 65536> buffer{};
  // A bounded number of reads a turn: a child that writes without end must not starve the rest.
  for (int turn = 0; turn < 16 && !job.drained; ++turn) {
    const auto got = ::read(job.output_pipe.native_handle(), buffer.data(), buffer.size());
    if (got > 0) job.output.add({buffer.data(), static_cast<std::size_t>(got)});
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      job.drained = true;
      job.changed.notify();
    }
  }
}

void ShellJobs::kill(const ShellJob& job) {
  if (!job.status) ::kill(-job.pid, SIGKILL);
}

}  // namespace swage::sandbox
