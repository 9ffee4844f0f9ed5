#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace swage::cli {

/// `swage run FILE --local`: starts a controller for the run and shows its progress to the end.
struct RunOptions {
  std::string file;  ///< may be empty when resuming: the run's own copy is used
  std::string out;
  std::string server;
  bool local = false;
  bool resume = false;
  bool json = false;  ///< prints summary.json at the end and nothing else
  std::optional<std::int64_t> evaluation_rollouts;
};

/// Returns the controller's exit code (docs/PROCESSES.md); 64 for options that do not agree.
int run_command(const RunOptions& options);

}  // namespace swage::cli
