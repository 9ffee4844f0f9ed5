#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>

#include "common/base/check.hpp"
#include "learner/core/log_frame.hpp"

/// A segment of the trajectory log after a crash: what was whole before it stays whole.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace swage::learner;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::ignore = frame_payload(bytes);
  std::string segment;
  append_frame(segment, 1, FrameType::trajectory, bytes);
  append_frame(segment, 2, FrameType::batch, "two");
  const auto whole = segment.size();
  const auto scan = scan_segment(segment + std::string(bytes), 1);
  swage::check(scan.frames.size() >= 2 && scan.good >= whole, "whole frames are lost");
  const auto damaged = scan_segment(bytes, 1);
  swage::check(damaged.good <= size, "good bytes beyond the end");
  return 0;
}
