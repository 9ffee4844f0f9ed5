#include "learner/adapters/log_index.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "common/base/files.hpp"

namespace swage::learner {
namespace {

tl::unexpected<LogError> failed(LogErrc code, std::string message) {
  return tl::unexpected(LogError{code, std::move(message)});
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

/// A file opened for reading only.
class Source {
 public:
  explicit Source(const std::filesystem::path& path)
      : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Source() {
    if (file_ >= 0) ::close(file_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::optional<std::uint64_t> size() const {
    struct stat info{};
    if (file_ < 0 || ::fstat(file_, &info) != 0) return std::nullopt;
    return static_cast<std::uint64_t>(info.st_size);
  }
  /// At most `count` bytes from `offset`: fewer where the file ends, also when a writer cut it
  /// meanwhile (a mapping would end the process there). Nothing: errno says why.
  std::optional<std::string> bytes(std::uint64_t offset, std::uint64_t count) const {
    if (file_ < 0) return std::nullopt;
    std::string out(count, '\0');
    std::size_t have = 0;
    while (have < out.size()) {
      const auto got =
          ::pread(file_, out.data() + have, out.size() - have, static_cast<off_t>(offset + have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return std::nullopt;
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    out.resize(have);
    return out;
  }

 private:
  int file_;
};

std::optional<std::uint64_t> synced_frames(const std::filesystem::path& directory) {
  const auto text = read_file(synced_file(directory));
  return text ? synced_mark(*text) : std::nullopt;
}

Result<void, LogError> add_segment(LogIndex& index, std::uint64_t first, bool last,
                                   std::optional<std::uint64_t> synced) {
  const auto path = index.directory / segment_name(first);
  const auto next = index.frames.size() + 1;
  if (first != next)
    return failed(LogErrc::damaged, "the segment that starts with frame " + std::to_string(next) +
                                        " is missing before " + path.string());
  const Source source(path);
  const auto size = source.size();
  const auto bytes = size ? source.bytes(0, *size) : std::nullopt;
  if (!bytes)
    return failed(LogErrc::io, "cannot read " + path.string() + ": " + std::strerror(errno));
  const auto scan = scan_segment(*bytes, first);
  if (scan.broken && !(last && is_torn_end(scan, first, synced)))
    return failed(LogErrc::damaged,
                  path.string() + " is damaged at offset " + std::to_string(scan.good) +
                      ", before its end; restore it from a copy, or start a new run");
  index.segments.push_back(first);
  index.frames.insert(index.frames.end(), scan.frames.begin(), scan.frames.end());
  index.end = scan.good;
  index.torn = bytes->size() - scan.good;
  return {};
}

}  // namespace

std::filesystem::path synced_file(const std::filesystem::path& directory) {
  return directory / "synced";
}

Result<LogIndex, LogError> index_log(std::filesystem::path directory) {
  LogIndex index;
  index.directory = std::move(directory);
  // Read first: a writer beside us only adds frames to what this number counts.
  const auto synced = synced_frames(index.directory);
  std::vector<std::uint64_t> segments;
  std::error_code listed;
  for (const auto& entry : std::filesystem::directory_iterator(index.directory, listed))
    if (const auto first = segment_first(entry.path().filename().string()))
      segments.push_back(*first);
  if (listed)
    return failed(LogErrc::io, "cannot list " + index.directory.string() + ": " + listed.message());
  std::sort(segments.begin(), segments.end());
  for (const auto first : segments)
    if (auto added = add_segment(index, first, first == segments.back(), synced); !added)
      return tl::unexpected(added.error());
  if (synced && index.frames.size() < *synced)
    return failed(LogErrc::damaged,
                  index.directory.string() + " ends with record " +
                      std::to_string(index.frames.size()) + ", and record " +
                      std::to_string(*synced) + " had been synced; restore it from a copy, or " +
                      "remove " + synced_file(index.directory).string() + " to go on without them");
  return index;
}

Result<LogRecord, LogError> read_record(const LogIndex& index, std::uint64_t seq) {
  if (seq == 0 || seq > index.frames.size())
    return failed(LogErrc::damaged, "frame " + std::to_string(seq) + " is not in the log");
  const auto& place = index.frames[seq - 1];
  const auto after = std::upper_bound(index.segments.begin(), index.segments.end(), seq);
  const auto path = index.directory / segment_name(*std::prev(after));
  const auto bytes = Source(path).bytes(place.offset, place.size);
  if (!bytes)
    return failed(LogErrc::io, "cannot read " + path.string() + ": " + std::strerror(errno));
  const auto payload = frame_payload(*bytes);
  auto content = payload ? decompressed(*payload) : std::nullopt;
  if (!content)
    return failed(LogErrc::damaged,
                  path.string() + " is damaged at offset " + std::to_string(place.offset));
  return LogRecord{place.type, std::move(*content)};
}

}  // namespace swage::learner
