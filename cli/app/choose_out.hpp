#pragma once

#include <filesystem>
#include <string>

#include "cli/app/find_system.hpp"
#include "cli/app/run_command.hpp"
#include "common/base/exit_code.hpp"
#include "common/base/result.hpp"

namespace swage::cli {

/// Where `swage run` puts or finds the run.
struct ChosenOut {
  std::filesystem::path out;
  bool resume = false;
  std::string notice;  ///< what was done to make room, for people; empty: nothing
};

/// Why there is none, and the exit code: 64, or 74 where nothing can be written.
struct OutRefusal {
  int code = exit_code::kBadInput;
  std::string message;
};

/// Looks at what lies at OUT already. A live run is never touched. With options.again an unfinished
/// run is gone on with, and a finished one is moved to the first free of OUT.1, OUT.2, ….
Result<ChosenOut, OutRefusal> choose_out(const RunOptions& options, const Where& where);

}  // namespace swage::cli
