#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "common/base/files.hpp"
#include "common/config/fields.hpp"
#include "common/log/log.hpp"

namespace swage {

/// The fields that every process's configuration has (docs/PROCESSES.md).
struct ProcessConfig {
  std::string name;                  ///< pod name
  std::string run;                   ///< TrainingRun's name; empty for the GPU worker
  std::string run_uid;               ///< TrainingRun's uid; empty for the GPU worker
  std::string listen;                ///< gRPC address; empty: serves none
  std::string http;                  ///< `host:port`; empty: no HTTP
  std::filesystem::path ready_file;  ///< written when the process serves; empty: none
  std::filesystem::path token_file;  ///< internal bearer token; empty: none
  std::string token;                 ///< its content
  LogLevel log_level = LogLevel::info;
  bool log_json = false;
};

/// Reads a process's JSON file: the common fields, then `own` takes the others from the same
/// object. Errors: unreadable, not JSON, unknown or ill-typed fields; each complaint names file and
/// field.
Result<ProcessConfig, ConfigError> read_process_config(const std::filesystem::path& file,
                                                       const std::function<void(Fields&)>& own);

/// Writes the ready file: {"pid": …, "http_port": …}. Does nothing when the path is empty.
/// Errors: cannot be written.
Result<void, FileError> write_ready_file(const std::filesystem::path& file, int http_port);

}  // namespace swage
