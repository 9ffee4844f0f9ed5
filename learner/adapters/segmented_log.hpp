#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "learner/core/log_frame.hpp"

namespace swage::learner {

enum class LogErrc {
  disk_full,  ///< no space; nothing of the append is in the log, a later try may succeed
  io,         ///< a read or open failed
  damaged,    ///< what is on disk is not a log that a crash could leave behind
  lost_sync,  ///< a write could not be undone or a sync failed: the log must not be used again
};

struct LogError {
  LogErrc code = LogErrc::io;
  std::string message;  ///< for people, with the path, and the remedy where there is one
};

constexpr FailureKind kind_of(LogErrc code) {
  switch (code) {
    case LogErrc::disk_full:
      return FailureKind::retry;
    case LogErrc::io:
    case LogErrc::damaged:
    case LogErrc::lost_sync:
      return FailureKind::give_up;
  }
  return FailureKind::give_up;
}

struct LogRecord {
  FrameType type = FrameType::trajectory;
  std::string payload;  ///< not compressed
};

/// The log's files: segments `seg-<first seq>` of checksummed frames with zstd payloads. Blocking;
/// one thread at a time. Opening cuts a broken tail of the last segment at its last whole frame;
/// damage anywhere else refuses, naming segment and offset. Numbers start at 1 and have no gap.
class SegmentedLog {
 public:
  static constexpr std::uint64_t kRollBytes = 256ULL << 20U;

  /// Makes the directory if needed. roll_bytes: a segment this long gets a successor.
  static Result<std::unique_ptr<SegmentedLog>, LogError> open(
      std::filesystem::path directory, std::uint64_t roll_bytes = kRollBytes);
  ~SegmentedLog();
  SegmentedLog(const SegmentedLog&) = delete;
  SegmentedLog& operator=(const SegmentedLog&) = delete;

  /// Appends all records and syncs (fdatasync; a new segment's directory too). Returns the number
  /// of the first. disk_full: none of them is there.
  Result<std::uint64_t, LogError> append(const std::vector<LogRecord>& records);

  /// One record. Errors: io, damaged (also for a number that is not there).
  Result<LogRecord, LogError> read(std::uint64_t seq) const;

  /// Every frame, by number.
  const std::vector<FramePlace>& frames() const { return frames_; }
  std::uint64_t next_seq() const { return next_; }
  std::uint64_t cut_bytes() const { return cut_; }  ///< of a broken tail, when it was opened

 private:
  explicit SegmentedLog(std::filesystem::path directory, std::uint64_t roll_bytes);
  Result<void, LogError> load();
  Result<void, LogError> load_segment(std::uint64_t first, bool last);
  Result<void, LogError> open_segment(std::uint64_t first);
  Result<void, LogError> write_all(std::string_view bytes);

  std::filesystem::path directory_;
  std::uint64_t roll_bytes_;
  int file_ = -1;           // the last segment
  std::uint64_t size_ = 0;  // of the last segment
  std::uint64_t next_ = 1;  // sequence number
  std::uint64_t cut_ = 0;
  bool unusable_ = false;
  std::vector<std::uint64_t> segments_;  // first sequence numbers, ascending
  std::vector<FramePlace> frames_;       // frames_[i] has number i + 1
};

}  // namespace swage::learner
