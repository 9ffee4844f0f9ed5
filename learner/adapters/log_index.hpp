#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "learner/core/log_frame.hpp"

namespace swage::learner {

enum class LogErrc {
  disk_full,  ///< no space; nothing of the append is in the log, a later try may succeed
  io,         ///< a read or open failed
  damaged,    ///< what is on disk is not a log that a crash could leave behind
  in_use,     ///< another process writes this log
  lost_sync,  ///< a write could not be undone or a sync failed: the log must not be used again
};

struct LogError {
  LogErrc code = LogErrc::io;
  std::string message;  ///< for people, with the path, and the remedy where there is one
};

constexpr FailureKind kind_of(LogErrc code) {
  switch (code) {
    case LogErrc::disk_full:
    case LogErrc::in_use:
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

/// Where the frames of a log lie: segments `seg-<first seq>` of checksummed frames with zstd
/// payloads, whose numbers start at 1 and have no gap.
struct LogIndex {
  std::filesystem::path directory;
  std::vector<std::uint64_t> segments;  ///< first sequence numbers, ascending
  std::vector<FramePlace> frames;       ///< frames[i] has number i + 1
  std::uint64_t end = 0;                ///< bytes of the last segment up to its last whole frame
  std::uint64_t torn = 0;               ///< bytes that a crash left behind that

  std::filesystem::path last_segment() const { return directory / segment_name(segments.back()); }
};

/// Looks at a log as it lies there, beside a writer or without one: nothing is written, cut or
/// locked, and what the writer is appending just now may be missing. Blocking. Errors: io; damaged
/// for anything but a torn end of the last segment, naming segment and offset, and for a log that
/// ends before the last record that was synced.
Result<LogIndex, LogError> index_log(std::filesystem::path directory);

/// One record. Blocking. Errors: io, damaged (also for a number that is not there).
Result<LogRecord, LogError> read_record(const LogIndex& index, std::uint64_t seq);

/// The file beside the segments that says how many frames were synced (core: synced_mark).
std::filesystem::path synced_file(const std::filesystem::path& directory);

}  // namespace swage::learner
