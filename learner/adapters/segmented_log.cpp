#include "learner/adapters/segmented_log.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/files.hpp"

namespace swage::learner {
namespace {

constexpr int kLevel = 3;

tl::unexpected<LogError> failed(LogErrc code, std::string message) {
  return tl::unexpected(LogError{code, std::move(message)});
}

bool means_full(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

std::string compressed(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const auto size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
  out.resize(size);
  return out;
}

std::optional<std::string> decompressed(std::string_view bytes) {
  constexpr unsigned long long kMost = 1ULL << 30U;
  const auto size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMost)
    return std::nullopt;
  std::string out(size, '\0');
  const auto got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) != 0 || got != size) return std::nullopt;
  return out;
}

/// A file as memory, unmapped at the end.
class Mapped {
 public:
  explicit Mapped(const std::filesystem::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat info{};
    if (::fstat(file, &info) == 0) {
      size_ = static_cast<std::size_t>(info.st_size);
      if (size_ > 0) data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      ok_ = size_ == 0 || data_ != MAP_FAILED;
    }
    ::close(file);
  }
  ~Mapped() {
    if (ok_ && size_ > 0) ::munmap(data_, size_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  bool ok() const { return ok_; }
  std::string_view bytes() const { return {static_cast<const char*>(data_), ok_ ? size_ : 0}; }

 private:
  bool ok_ = false;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

SegmentedLog::SegmentedLog(std::filesystem::path directory, std::uint64_t roll_bytes)
    : directory_(std::move(directory)), roll_bytes_(roll_bytes) {}

SegmentedLog::~SegmentedLog() {
  if (file_ >= 0) ::close(file_);
}

Result<std::unique_ptr<SegmentedLog>, LogError> SegmentedLog::open(std::filesystem::path directory,
                                                                   std::uint64_t roll_bytes) {
  std::error_code made;
  std::filesystem::create_directories(directory, made);
  if (made)
    return failed(means_full(made.value()) ? LogErrc::disk_full : LogErrc::io,
                  "cannot make " + directory.string() + ": " + made.message());
  std::unique_ptr<SegmentedLog> log(new SegmentedLog(std::move(directory), roll_bytes));
  if (auto loaded = log->load(); !loaded) return tl::unexpected(loaded.error());
  return log;
}

Result<void, LogError> SegmentedLog::load() {
  std::error_code listed;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, listed))
    if (const auto first = segment_first(entry.path().filename().string()))
      segments_.push_back(*first);
  if (listed)
    return failed(LogErrc::io, "cannot list " + directory_.string() + ": " + listed.message());
  std::sort(segments_.begin(), segments_.end());
  for (std::size_t i = 0; i < segments_.size(); ++i)
    if (auto loaded = load_segment(segments_[i], i + 1 == segments_.size()); !loaded) return loaded;
  return open_segment(segments_.empty() ? 1 : segments_.back());
}

Result<void, LogError> SegmentedLog::load_segment(std::uint64_t first, bool last) {
  const auto path = directory_ / segment_name(first);
  if (first != next_)
    return failed(LogErrc::damaged, "the segment that starts with frame " + std::to_string(next_) +
                                        " is missing before " + path.string());
  const Mapped file(path);
  if (!file.ok()) return failed(LogErrc::io, "cannot read " + path.string());
  auto scan = scan_segment(file.bytes(), first);
  if (scan.broken && (!last || scan.frames_beyond))
    return failed(LogErrc::damaged,
                  path.string() + " is damaged at offset " + std::to_string(scan.good) +
                      ", before its end; restore it from a copy, or start a new run");
  if (scan.broken) {
    cut_ = file.bytes().size() - scan.good;
    if (::truncate(path.c_str(), static_cast<off_t>(scan.good)) != 0)
      return failed(LogErrc::io,
                    "cannot cut the broken tail of " + path.string() + ": " + std::strerror(errno));
  }
  frames_.insert(frames_.end(), scan.frames.begin(), scan.frames.end());
  next_ += scan.frames.size();
  size_ = scan.good;
  return {};
}

Result<void, LogError> SegmentedLog::open_segment(std::uint64_t first) {
  const auto path = directory_ / segment_name(first);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0)
    return failed(means_full(errno) ? LogErrc::disk_full : LogErrc::io,
                  "cannot open " + path.string() + ": " + std::strerror(errno));
  if (::fsync(file) != 0 || !sync_directory(directory_)) {
    const int error = errno;
    ::close(file);
    return failed(means_full(error) ? LogErrc::disk_full : LogErrc::lost_sync,
                  "cannot sync " + path.string() + ": " + std::strerror(error));
  }
  if (file_ >= 0) ::close(file_);
  file_ = file;
  if (segments_.empty() || segments_.back() != first) {
    segments_.push_back(first);
    size_ = 0;
  }
  return {};
}

Result<void, LogError> SegmentedLog::write_all(std::string_view bytes) {
  std::uint64_t at = size_;
  while (!bytes.empty()) {
    const auto wrote = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int error = wrote < 0 ? errno : ENOSPC;
      // What was written is taken back, so that the log ends with a whole frame.
      if (::ftruncate(file_, static_cast<off_t>(size_)) != 0) {
        unusable_ = true;
        return failed(LogErrc::lost_sync,
                      std::string("cannot undo a write: ") + std::strerror(errno));
      }
      if (means_full(error))
        return failed(LogErrc::disk_full, "no space left in " + directory_.string() +
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
  if (size_ >= roll_bytes_)
    if (auto opened = open_segment(next_); !opened) return tl::unexpected(opened.error());
  std::string bytes;
  std::vector<FramePlace> places;
  for (const auto& record : records) {
    const std::uint64_t offset = bytes.size();
    append_frame(bytes, next_ + places.size(), record.type, compressed(record.payload));
    places.push_back({next_ + places.size(), record.type, size_ + offset, bytes.size() - offset});
  }
  if (auto wrote = write_all(bytes); !wrote) return tl::unexpected(wrote.error());
  if (::fdatasync(file_) != 0) {
    unusable_ = true;
    return failed(LogErrc::lost_sync, std::string("cannot sync the log: ") + std::strerror(errno));
  }
  const auto first = next_;
  size_ += bytes.size();
  next_ += records.size();
  frames_.insert(frames_.end(), places.begin(), places.end());
  return first;
}

Result<LogRecord, LogError> SegmentedLog::read(std::uint64_t seq) const {
  if (seq == 0 || seq > frames_.size())
    return failed(LogErrc::damaged, "frame " + std::to_string(seq) + " is not in the log");
  const auto& place = frames_[seq - 1];
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), seq);
  const auto path = directory_ / segment_name(*std::prev(after));
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return failed(LogErrc::io, "cannot open " + path.string() + ": " + std::strerror(errno));
  std::string bytes(place.size, '\0');
  const auto got = ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(place.offset));
  ::close(file);
  const auto payload =
      got == static_cast<ssize_t>(bytes.size()) ? frame_payload(bytes) : std::nullopt;
  auto content = payload ? decompressed(*payload) : std::nullopt;
  if (!content)
    return failed(LogErrc::damaged,
                  path.string() + " is damaged at offset " + std::to_string(place.offset));
  return LogRecord{place.type, std::move(*content)};
}

}  // namespace swage::learner
