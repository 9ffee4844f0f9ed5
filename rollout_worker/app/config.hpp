#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "common/base/stop_graces.hpp"
#include "common/config/process_config.hpp"
#include "gpu_pool/lease/api/types.hpp"

namespace swage::rollout_worker {

/// Fields of swage-rollout-worker besides the common ones (docs/PROCESSES.md).
struct WorkerConfig {
  ProcessConfig process;
  std::string controller;                   ///< gRPC address of the controller's leader
  std::string learner;                      ///< gRPC address of learner rank 0
  lease::QueueConfig queue;                 ///< `redis{address, password_file}` and `pool`
  std::uint32_t capacity = 64;              ///< rollouts at once
  std::filesystem::path tokenizer;          ///< tokenizer.json of the run's model
  std::string renderer = "tiny";            ///< chat format
  std::filesystem::path teacher_directory;  ///< task folders with decks; empty: no teacher
  std::chrono::seconds drain =
      kDefaultDrain;  ///< `drain_seconds`: for rollouts in hand after SIGTERM
};

/// Errors: unreadable, unknown or ill-typed fields, a password file that cannot be read.
Result<WorkerConfig, ConfigError> read_worker_config(const std::filesystem::path& file);

}  // namespace swage::rollout_worker
