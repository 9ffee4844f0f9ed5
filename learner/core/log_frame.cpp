#include "learner/core/log_frame.hpp"

#include <charconv>

#include "common/base/check.hpp"
#include "common/base/digest.hpp"

namespace swage::learner {
namespace {

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xffU));
}

std::uint64_t get(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

std::uint32_t checksum(std::string_view length, std::string_view rest) {
  return crc32c(rest, crc32c(length));
}

std::optional<FramePlace> frame_at(std::string_view bytes, std::size_t offset) {
  if (bytes.size() - offset < kFrameHeader) return std::nullopt;
  const auto length = get(bytes, offset, 4);
  if (length > kMaxPayload || bytes.size() - offset - kFrameHeader < length) return std::nullopt;
  const auto type = get(bytes, offset + 16, 1);
  if (type < 1 || type > 4) return std::nullopt;
  const auto rest = bytes.substr(offset + 8, kFrameHeader - 8 + length);
  if (checksum(bytes.substr(offset, 4), rest) != get(bytes, offset + 4, 4)) return std::nullopt;
  return FramePlace{get(bytes, offset + 8, 8), static_cast<FrameType>(type), offset,
                    kFrameHeader + length};
}

/// Looks for a whole frame after `from` whose number could follow. The number and the length are
/// tested before the checksum, so that this stays quick on a long tail.
bool frame_beyond(std::string_view bytes, std::size_t from, std::uint64_t next_seq) {
  for (std::size_t at = from; at + kFrameHeader <= bytes.size(); ++at) {
    const auto seq = get(bytes, at + 8, 8);
    if (seq < next_seq || seq - next_seq > bytes.size()) continue;
    if (frame_at(bytes, at)) return true;
  }
  return false;
}

constexpr std::string_view kPrefix = "seg-";
constexpr std::size_t kDigits = 20;

}  // namespace

void append_frame(std::string& out, std::uint64_t seq, FrameType type, std::string_view payload) {
  check(payload.size() <= kMaxPayload, "a payload within the limit of a frame");
  std::string length;
  put(length, payload.size(), 4);
  std::string rest;
  rest.reserve(kFrameHeader - 8 + payload.size());
  put(rest, seq, 8);
  rest.push_back(static_cast<char>(type));
  rest.append(payload);
  out.append(length);
  put(out, checksum(length, rest), 4);
  out.append(rest);
}

std::optional<std::string_view> frame_payload(std::string_view bytes) {
  const auto frame = frame_at(bytes, 0);
  if (!frame) return std::nullopt;
  return bytes.substr(kFrameHeader, frame->size - kFrameHeader);
}

SegmentScan scan_segment(std::string_view bytes, std::uint64_t first) {
  SegmentScan scan;
  std::uint64_t next = first;
  while (scan.good < bytes.size()) {
    const auto frame = frame_at(bytes, scan.good);
    if (!frame || frame->seq != next) {
      scan.broken = true;
      scan.frames_beyond = frame_beyond(bytes, scan.good, next);
      break;
    }
    scan.frames.push_back(*frame);
    scan.good += frame->size;
    ++next;
  }
  return scan;
}

bool is_torn_end(const SegmentScan& scan, std::uint64_t first,
                 std::optional<std::uint64_t> synced) {
  if (!synced) return !scan.frames_beyond;
  return first + scan.frames.size() > *synced;
}

std::string synced_mark(std::uint64_t frames) {
  std::string out;
  put(out, frames, 8);
  put(out, crc32c(out), 4);
  return out;
}

std::optional<std::uint64_t> synced_mark(std::string_view bytes) {
  if (bytes.size() != 12 || crc32c(bytes.substr(0, 8)) != get(bytes, 8, 4)) return std::nullopt;
  return get(bytes, 0, 8);
}

std::string segment_name(std::uint64_t first) {
  const std::string digits = std::to_string(first);
  return std::string(kPrefix) + std::string(kDigits - digits.size(), '0') + digits;
}

std::optional<std::uint64_t> segment_first(std::string_view name) {
  if (name.size() != kPrefix.size() + kDigits || !name.starts_with(kPrefix)) return std::nullopt;
  std::uint64_t value = 0;
  const auto* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, value);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return value;
}

}  // namespace swage::learner
