#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "common/base/descriptor.hpp"
#include "common/base/result.hpp"

namespace swage::cli {

/// Why a controller's log could not be taken.
struct LogRefusal {
  bool in_use = false;  ///< another `swage run` writes it
  std::string message;  ///< with the remedy
};

/// OUT.controller.log: what the controller of a local run prints. It lies beside OUT, not in it,
/// since the controller refuses an OUT that holds files of somebody else. One `swage run` at a time
/// holds it, by flock; it ends with the object.
class ControllerLog {
 public:
  /// Takes the log of `out`, or makes it. Errors: another start holds it; not writable.
  static Result<ControllerLog, LogRefusal> take(const std::filesystem::path& out);

  const std::filesystem::path& path() const { return path_; }
  /// What was written since it was taken.
  std::string said() const;
  /// Takes that back: nothing was started.
  void undo();

 private:
  ControllerLog(std::filesystem::path path, Descriptor file, off_t before)
      : path_(std::move(path)), file_(std::move(file)), before_(before) {}

  std::filesystem::path path_;
  Descriptor file_;
  off_t before_;  ///< its size when it was taken
};

}  // namespace swage::cli
