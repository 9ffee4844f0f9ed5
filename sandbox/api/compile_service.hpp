#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"
#include "sandbox/api/bundle.hpp"

namespace swage::sandbox {

/// Where the compiler and the headers of bindings come from. Part of every cache key.
struct Toolchain {
  std::string cxx = "/usr/bin/g++";
  std::filesystem::path torch_directory;  ///< the wheel's torch folder: include/ and lib/
  std::filesystem::path python;           ///< interpreter whose headers bindings include
};

/// What was asked and what it cost; the fields of swage.v1.CompileRecord.
struct CompileRecord {
  std::vector<std::string> source_sha256;  ///< one per translation unit, sorted
  std::vector<std::string> argv;           ///< of the link step
  std::string toolchain;                   ///< compiler name and version
  std::string library_sha256;
  std::chrono::milliseconds wall{0};
  std::uint32_t units = 0;
  std::uint32_t cache_hits = 0;
};

struct CompileOutcome {
  bool compiled = false;
  std::string library;      ///< cuda_extension.so; empty unless compiled
  std::string diagnostics;  ///< compiler output, <= 64 KiB, file:line relative to the work directory
  CompileRecord record;
};

/// Why a compilation could not be tried. A kernel that does not compile is an outcome, not an error.
enum class CompileErrc {
  toolchain_missing,  ///< compiler, torch or Python headers are not where the settings say
  no_space,           ///< the cache directory is full or not writable
  isolation_refused,  ///< bubblewrap is not permitted, and reduced isolation is not allowed
  cancelled,          ///< `stop` was requested
};
struct CompileError {
  CompileErrc code;
  std::string message;  ///< for people, with the remedy
};
constexpr FailureKind kind_of(const CompileError& error) {
  switch (error.code) {
    case CompileErrc::toolchain_missing:
    case CompileErrc::isolation_refused:
      return FailureKind::give_up;
    case CompileErrc::no_space:
      return FailureKind::retry;
    case CompileErrc::cancelled:
      return FailureKind::cancelled;
  }
  return FailureKind::give_up;
}

/// Turns a work directory's sources into cuda_extension.so: *.cpp of `.` and `kernels/`, each by a
/// fixed command line in a container of its own, through an object cache keyed by content. At most
/// one compiler a core runs at once among all users of the cache directory. Thread: one strand.
class CompileService {
 public:
  virtual ~CompileService() = default;
  /// files: the agent's files and the pristine protected ones. Idempotent.
  virtual Task<Result<CompileOutcome, CompileError>> compile(std::vector<WorkFile> files,
                                                             StopSource& stop) = 0;
};

}  // namespace swage::sandbox
