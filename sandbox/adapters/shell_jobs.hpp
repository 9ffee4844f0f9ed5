#pragma once

#include <sys/types.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/asio/asio.hpp"
#include "common/asio/event.hpp"
#include "common/base/result.hpp"
#include "sandbox/core/text.hpp"

namespace swage::sandbox {

/// One command in a process group of its own, with its output. Made by ShellJobs. Life: kept alive
/// by its pipe until the last process that holds the pipe ends.
struct ShellJob {
  explicit ShellJob(const asio::any_io_executor& strand) : output_pipe(strand), changed(strand) {}
  pid_t pid = -1;
  HeadAndTail output;         ///< what was printed and not yet taken
  std::optional<int> status;  ///< wait status, once it has ended
  bool drained = false;       ///< the pipe's other end is closed
  asio::posix::stream_descriptor output_pipe;
  Event changed;  ///< status or drained
};

/// Starts commands and reaps every child of this process: in a container it is process 1. Touched
/// on one strand. stop() before it goes.
class ShellJobs {
 public:
  explicit ShellJobs(asio::any_io_executor strand);
  ShellJobs(const ShellJobs&) = delete;
  ShellJobs& operator=(const ShellJobs&) = delete;

  /// Starts argv with exactly this environment, stdin empty, stdout and stderr in one pipe.
  /// Error: no process or descriptor is left.
  Result<std::shared_ptr<ShellJob>, std::string> start(
      const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment,
      const std::filesystem::path& working_directory);

  /// SIGKILL to its process group; nothing once it has a status, for then it is reaped and the
  /// group's number may be another's.
  static void kill(const ShellJob& job);
  /// Reads what already lies in the pipe of a job that has ended.
  static void drain(ShellJob& job);
  /// Ends every process below this one, those too that left their groups, and lets no job wait on.
  void stop();

 private:
  void await_children();
  void reap();
  static void read_on(std::shared_ptr<ShellJob> job);

  asio::any_io_executor strand_;
  asio::signal_set children_;
  std::map<pid_t, std::weak_ptr<ShellJob>> running_;
};

}  // namespace swage::sandbox
