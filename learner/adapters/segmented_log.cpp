#include "learner/adapters/segmented_log.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "common/base/files.hpp"

namespace swage::learner {
namespace {

constexpr int kLevel = 3;

tl::unexpected<LogError> failed(LogErrc code, std::string message) {
  return tl::unexpected(LogError{code, std::move(message)});
}

bool means_full(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

/// Why a file that is to be written cannot be.
tl::unexpected<LogError> unwritable(const std::string& what, const std::filesystem::path& path) {
  const int error = errno;
  return failed(means_full(error) ? LogErrc::disk_full : LogErrc::io,
                what + " " + path.string() + ": " + std::strerror(error));
}

std::string compressed(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const auto size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
  out.resize(size);
  return out;
}

bool write_mark(int file, std::uint64_t frames) {
  const auto text = synced_mark(frames);
  return ::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

}  // namespace

SegmentedLog::~SegmentedLog() {
  for (const int file : {file_, mark_, lock_})  // the lock last
    if (file >= 0) ::close(file);
}

Result<std::unique_ptr<SegmentedLog>, LogError> SegmentedLog::open(std::filesystem::path directory,
                                                                   std::uint64_t roll_bytes) {
  std::error_code made;
  std::filesystem::create_directories(directory, made);
  if (made)
    return failed(means_full(made.value()) ? LogErrc::disk_full : LogErrc::io,
                  "cannot make " + directory.string() + ": " + made.message());
  std::unique_ptr<SegmentedLog> log(new SegmentedLog(roll_bytes));
  if (auto locked = log->lock(directory); !locked) return tl::unexpected(locked.error());
  if (auto loaded = log->load(std::move(directory)); !loaded) return tl::unexpected(loaded.error());
  return log;
}

Result<void, LogError> SegmentedLog::lock(const std::filesystem::path& directory) {
  const auto path = directory / "lock";
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) return unwritable("cannot open", path);
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno == EWOULDBLOCK)
    return failed(LogErrc::in_use, "another learner writes the log in " + directory.string() +
                                       "; stop it, or choose another output directory");
  return unwritable("cannot lock", path);
}

Result<void, LogError> SegmentedLog::load(std::filesystem::path directory) {
  auto index = index_log(std::move(directory));
  if (!index) return tl::unexpected(index.error());
  index_ = std::move(*index);
  if (auto cut = cut_torn_end(); !cut) return cut;
  if (auto opened = open_segment(index_.segments.empty() ? 1 : index_.segments.back()); !opened)
    return opened;
  return open_mark();
}

Result<void, LogError> SegmentedLog::cut_torn_end() {
  cut_ = std::exchange(index_.torn, 0);
  if (cut_ == 0) return {};
  const auto path = index_.last_segment();
  if (::truncate(path.c_str(), static_cast<off_t>(index_.end)) != 0)
    return failed(LogErrc::io,
                  "cannot cut the torn end of " + path.string() + ": " + std::strerror(errno));
  return {};
}

Result<void, LogError> SegmentedLog::open_segment(std::uint64_t first) {
  const auto path = index_.directory / segment_name(first);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return unwritable("cannot open", path);
  if (::fsync(file) != 0 || !sync_directory(index_.directory)) {
    const int error = errno;
    ::close(file);
    return failed(means_full(error) ? LogErrc::disk_full : LogErrc::lost_sync,
                  "cannot sync " + path.string() + ": " + std::strerror(error));
  }
  if (file_ >= 0) ::close(file_);
  file_ = file;
  if (index_.segments.empty() || index_.segments.back() != first) {
    index_.segments.push_back(first);
    index_.end = 0;
  }
  return {};
}

/// After open_segment: what the last segment holds is synced by now.
Result<void, LogError> SegmentedLog::open_mark() {
  const auto path = synced_file(index_.directory);
  mark_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (mark_ < 0) return unwritable("cannot open", path);
  if (!write_mark(mark_, index_.frames.size()) || ::fsync(mark_) != 0 ||
      !sync_directory(index_.directory))
    return unwritable("cannot write", path);
  return {};
}

Result<void, LogError> SegmentedLog::write_all(std::string_view bytes) {
  std::uint64_t at = index_.end;
  while (!bytes.empty()) {
    const auto wrote = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int error = wrote < 0 ? errno : ENOSPC;
      // What was written is taken back, so that the log ends with a whole frame.
      if (::ftruncate(file_, static_cast<off_t>(index_.end)) != 0) {
        unusable_ = true;
        return failed(LogErrc::lost_sync,
                      std::string("cannot undo a write: ") + std::strerror(errno));
      }
      if (means_full(error))
        return failed(LogErrc::disk_full, "no space left in " + index_.directory.string() +
                                              "; free some and the run goes on");
      unusable_ = true;
      return failed(LogErrc::lost_sync, std::string("cannot write: ") + std::strerror(error));
    }
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
    at += static_cast<std::uint64_t>(wrote);
  }
  return {};
}

Result<std::uint64_t, LogError> SegmentedLog::append(const std::vector<LogRecord>& records) {
  if (unusable_) return failed(LogErrc::lost_sync, "an earlier write or sync failed");
  const auto first = next_seq();
  if (index_.end >= roll_bytes_)
    if (auto opened = open_segment(first); !opened) return tl::unexpected(opened.error());
  std::string bytes;
  std::vector<FramePlace> places;
  for (const auto& record : records) {
    const std::uint64_t offset = bytes.size();
    append_frame(bytes, first + places.size(), record.type, compressed(record.payload));
    places.push_back(
        {first + places.size(), record.type, index_.end + offset, bytes.size() - offset});
  }
  if (auto wrote = write_all(bytes); !wrote) return tl::unexpected(wrote.error());
  if (::fdatasync(file_) != 0) {
    unusable_ = true;
    return failed(LogErrc::lost_sync, std::string("cannot sync the log: ") + std::strerror(errno));
  }
  index_.end += bytes.size();
  index_.frames.insert(index_.frames.end(), places.begin(), places.end());
  // Not synced: it only has to outlive this process, and after a power failure an older number
  // still stands before every torn end. The same if it cannot be written now.
  std::ignore = write_mark(mark_, index_.frames.size());
  return first;
}

}  // namespace swage::learner
