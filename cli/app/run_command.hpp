#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace swage::cli {

/// `swage run --local`: starts a controller for the run on this machine and shows its progress to
/// the end. Without --local the file's objects are given to the cluster (apply_command.hpp).
struct RunOptions {
  std::string file;  ///< may be empty when resuming: the run's own copy is used
  std::string out;
  std::string server;
  bool local = false;
  bool resume = false;  ///< implies `local`
  bool again = false;   ///< OUT may hold an earlier run (choose_out.hpp)
  bool json = false;    ///< prints summary.json at the end, or how the run stands, and nothing else
  std::optional<std::int64_t> evaluation_rollouts;
};

/// Returns the controller's exit code (docs/PROCESSES.md); 64 for options that do not agree,
/// 74 where nothing can be written.
int run_command(RunOptions options);

}  // namespace swage::cli
