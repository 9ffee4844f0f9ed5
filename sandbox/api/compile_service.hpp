#pragma once

#include <string>
#include <vector>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"
#include "sandbox/api/bundle.hpp"
#include "sandbox/api/compile_types.hpp"

namespace swage::sandbox {

/// Why a compilation could not be tried. A kernel that does not compile is an outcome, not an
/// error.
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
