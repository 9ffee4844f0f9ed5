#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace swage::controller {

/// What the command line says.
struct ControllerConfig {
  std::filesystem::path run_file;  ///< a TrainingRun and its ProfilingPool, YAML
  std::filesystem::path out;       ///< directory of the run
  bool resume = false;             ///< go on with the run that lies in `out`
  /// Of each evaluation round; absent: what the run was started with, 64 for a new one.
  std::optional<std::uint64_t> evaluation_rollouts;
};

/// How long each kind of pod may take to end before it is killed.
struct StopGraces {
  std::chrono::milliseconds rollout_worker{10000};
  std::chrono::milliseconds sandbox{2000};
  std::chrono::milliseconds policy{5000};
  std::chrono::milliseconds learner{45000};  ///< it writes a checkpoint
  std::chrono::milliseconds gpu_worker{10000};
  std::chrono::milliseconds redis{5000};
};

}  // namespace swage::controller
