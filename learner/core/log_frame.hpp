#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swage::learner {

/// What a frame of the log holds.
enum class FrameType : std::uint8_t {
  trajectory = 1,  ///< a serialised v1.Trajectory, as it arrived
  batch = 2,       ///< which trajectories a PPO step consumes, before it computes
  version = 3,     ///< a weight version, before it is sent anywhere
  abandon = 4,     ///< weight versions that a rollback took back
};

/// Where a frame lies in its segment.
struct FramePlace {
  std::uint64_t seq = 0;
  FrameType type = FrameType::trajectory;
  std::uint64_t offset = 0;  ///< of the frame, bytes
  std::uint64_t size = 0;    ///< of the whole frame, bytes
};

/// Bytes before the payload: u32 length of the payload, u32 CRC-32C of length, seq, type and
/// payload, u64 seq, u8 type. Little endian.
inline constexpr std::size_t kFrameHeader = 4 + 4 + 8 + 1;
inline constexpr std::uint32_t kMaxPayload = 64U << 20U;

/// Appends one frame to `out`. payload: already compressed, at most kMaxPayload.
void append_frame(std::string& out, std::uint64_t seq, FrameType type, std::string_view payload);

/// The payload of the whole frame at the start of `bytes`; nothing if it is cut or damaged.
std::optional<std::string_view> frame_payload(std::string_view bytes);

/// What a segment holds.
struct SegmentScan {
  std::vector<FramePlace> frames;  ///< whole ones, in order, seq rising by one from `first`
  std::uint64_t good = 0;          ///< bytes up to the end of the last whole frame
  bool broken = false;             ///< something other than whole frames follows
  /// A whole frame with a later seq lies beyond the break: no killed writer leaves that.
  bool frames_beyond = false;
};

/// Reads a segment whose first frame must have sequence number `first`.
SegmentScan scan_segment(std::string_view bytes, std::uint64_t first);

/// Whether what follows the whole frames of the last segment may be cut: a crash in the middle of
/// an append left it, and nobody was told of it. first: number of the segment's first frame.
/// synced: how many frames of the log were synced for certain. With it a torn end begins behind
/// them, whatever it looks like: after a power failure the pages of one write may lie there in any
/// choice. Without it (a log of before the mark) only an end without a whole frame is one.
bool is_torn_end(const SegmentScan& scan, std::uint64_t first, std::optional<std::uint64_t> synced);

/// How many frames of a log are synced, as 12 bytes: u64 count, u32 CRC-32C of it, little endian.
/// And back: nothing for what was not written by it.
std::string synced_mark(std::uint64_t frames);
std::optional<std::uint64_t> synced_mark(std::string_view bytes);

/// `seg-00000000000000000001`, and the number back; nothing for another name.
std::string segment_name(std::uint64_t first);
std::optional<std::uint64_t> segment_first(std::string_view name);

}  // namespace swage::learner
