#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/stop_graces.hpp"
#include "common/config/process_config.hpp"
#include "gpu_pool/lease/api/types.hpp"

namespace swage::worker {

/// Configuration of swage-gpu-worker.
struct WorkerConfig {
  ProcessConfig process;
  lease::QueueConfig queue;  ///< `redis{address, password_file}` and `pool`
  lease::GpuId gpu;          ///< `gpu`: UUID of the device, [A-Za-z0-9._-]{1,96}
  std::string address;       ///< `address`: gRPC target that holders dial; default `listen`
  /// `drain_seconds`: at SIGTERM the evaluation in hand may go on for this long. Default 5.
  std::chrono::seconds drain = kDefaultDrain;

  std::string device_kind = "cpu";             ///< `cpu` or `cuda`
  std::filesystem::path verdict_key_file;      ///< HMAC key that verdicts are signed with
  std::filesystem::path python;                ///< interpreter with torch
  std::filesystem::path model_host_directory;  ///< Python program of the model hosts
  std::filesystem::path judge_binary;          ///< swage-judge
  std::filesystem::path cache_directory;       ///< for compiled kernels of the resident hosts
  std::vector<int> host_cores;                 ///< processors of the model hosts; default: chosen
  std::vector<int> judge_cores;                ///< processors of the judge; default: chosen
};

/// Reads and checks the file. Errors name file and field.
Result<WorkerConfig, ConfigError> read_worker_config(const std::filesystem::path& file);

}  // namespace swage::worker
