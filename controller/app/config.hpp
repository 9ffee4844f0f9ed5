#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "common/base/stop_graces.hpp"

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
  std::chrono::milliseconds rollout_worker = kDefaultDrain + kRolloutWorkerStop.grace;
  std::chrono::milliseconds sandbox = kSandboxStop.grace;
  std::chrono::milliseconds policy = kPolicyStop.grace;
  std::chrono::milliseconds learner = kLearnerStop.grace;
  std::chrono::milliseconds gpu_worker = kDefaultDrain + kGpuWorkerStop.grace;
  std::chrono::milliseconds redis = kRedisStop.grace;
};

}  // namespace swage::controller
