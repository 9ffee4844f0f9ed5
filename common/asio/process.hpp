#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/asio/asio.hpp"
#include "common/base/files.hpp"

namespace swage {

/// How to start a child process.
struct ProcessSpec {
  std::vector<std::string> argv;            ///< argv[0] is looked up on PATH
  std::map<std::string, std::string> env;   ///< the child's whole environment
  std::filesystem::path working_directory;  ///< empty: ours
  std::optional<std::filesystem::path>
      log;                      ///< stdout and stderr are appended here; else inherited
  std::optional<uid_t> uid;     ///< switch user (needs root); gid is the same number
  bool die_with_parent = true;  ///< SIGKILL when the thread that started it ends
  /// Child's number → ours. Nothing else is inherited but stdin (empty), stdout and stderr.
  std::map<int, int> descriptors;
};

/// A child in a process group of its own, watched by a pidfd. Touched on one strand. The group ends
/// with its leader: what is left of it is killed with SIGKILL before the leader is reaped. The
/// destructor does both at once.
class Process {
 public:
  /// Errors: not found, not permitted, no resources.
  static Result<std::unique_ptr<Process>, FileError> start(asio::any_io_executor strand,
                                                           const ProcessSpec& spec);
  virtual ~Process() = default;
  virtual pid_t pid() const = 0;
  /// Sends a signal to the process alone, or to its whole group. Once wait() has returned: nothing.
  virtual void signal(int number, bool group) = 0;
  /// Waits for its end, and ends what is left of its group. Returns the wait status as WIFEXITED
  /// and friends read it. One waiter.
  virtual Task<int> wait() = 0;
  virtual std::optional<int> status() const = 0;
};

/// The environment of this process as a map, to build a child's from.
std::map<std::string, std::string> current_environment();

/// "exit code 3", "signal 9 (Killed)".
std::string describe_status(int wait_status);

}  // namespace swage
