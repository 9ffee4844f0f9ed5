#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "learner/adapters/log_index.hpp"

namespace swage::learner {

/// The writer of a log; whoever only reads uses index_log(). Blocking; one thread at a time. It
/// holds the directory's file `lock` from open to end (the kernel lets go of it when the process
/// dies), so there is one at most. Opening cuts what a crash left behind the last whole frame.
/// After each sync, and before it is answered, the number of synced frames is noted in `synced`:
/// what lies behind them was promised to nobody, what lies before is never cut.
class SegmentedLog {
 public:
  static constexpr std::uint64_t kRollBytes = 256ULL << 20U;

  /// Makes the directory if needed. roll_bytes: a segment this long gets a successor. Errors: as
  /// index_log; in_use while another process has it open; disk_full, lost_sync.
  static Result<std::unique_ptr<SegmentedLog>, LogError> open(
      std::filesystem::path directory, std::uint64_t roll_bytes = kRollBytes);
  ~SegmentedLog();
  SegmentedLog(const SegmentedLog&) = delete;
  SegmentedLog& operator=(const SegmentedLog&) = delete;

  /// Appends all records and syncs (fdatasync; a new segment's directory too). Returns the number
  /// of the first. disk_full: none of them is there.
  Result<std::uint64_t, LogError> append(const std::vector<LogRecord>& records);

  /// As read_record.
  Result<LogRecord, LogError> read(std::uint64_t seq) const { return read_record(index_, seq); }

  /// Every frame, by number.
  const std::vector<FramePlace>& frames() const { return index_.frames; }
  std::uint64_t next_seq() const { return index_.frames.size() + 1; }
  std::uint64_t cut_bytes() const { return cut_; }  ///< of a torn end, when it was opened

 private:
  explicit SegmentedLog(std::uint64_t roll_bytes) : roll_bytes_(roll_bytes) {}
  Result<void, LogError> lock(const std::filesystem::path& directory);
  Result<void, LogError> load(std::filesystem::path directory);
  Result<void, LogError> cut_torn_end();
  Result<void, LogError> open_segment(std::uint64_t first);
  Result<void, LogError> open_mark();
  Result<void, LogError> write_all(std::string_view bytes);

  LogIndex index_;
  std::uint64_t roll_bytes_;
  int lock_ = -1;
  int mark_ = -1;  // the file `synced`
  int file_ = -1;  // the last segment
  std::uint64_t cut_ = 0;
  bool unusable_ = false;
};

}  // namespace swage::learner
