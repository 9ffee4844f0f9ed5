#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "common/asio/clock.hpp"

namespace swage::sandbox {

/// An exclusive flock on one of several files, among all processes of the machine that use them.
/// Move-only; gives itself back when it goes, also when the process dies.
class FileLock {
 public:
  FileLock() = default;
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();
  explicit operator bool() const { return fd_ >= 0; }

  /// Waits until one of the files can be locked; they are made if missing. Empty: `stop` was
  /// requested or no file can be opened.
  static Task<FileLock> acquire(std::vector<std::filesystem::path> files, Clock& clock,
                                StopSource& stop);

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace swage::sandbox
