#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/adapters/controller_log.hpp"
#include "cli/app/run_command.hpp"
#include "cli/app/terminal.hpp"
#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"

namespace swage::cli {

/// Everything of one `swage run` after its options were checked: starts the controller, shows its
/// progress, says how it ended. Thread: the strand of run(). Life: outlives run().
class LocalRunner {
 public:
  /// options: `resume` is what was decided, not only what was asked.
  LocalRunner(RunOptions options, std::filesystem::path out, ControllerLog log)
      : options_(std::move(options)), out_(std::move(out)), log_(std::move(log)) {}

  /// Ends with the controller; a stop is passed on to it. Returns the exit code.
  Task<int> run(asio::any_io_executor strand, StopSource& stop);

 private:
  std::vector<std::string> arguments() const;
  Task<> follow(int pid, StopSource& done);
  void report(int code, int status, bool stopped, bool started);
  void report_failure(int code, int status, bool started);
  void print_record(const std::string& state, int code);
  void close_run();
  void say_if_disk_is_full(int code, const std::string& remedy) const;

  RunOptions options_;
  std::filesystem::path out_;
  ControllerLog log_;
  Terminal terminal_;
};

}  // namespace swage::cli
