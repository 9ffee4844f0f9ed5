#include "learner/core/repetition.hpp"

#include <map>
#include <span>

#include "common/base/digest.hpp"

namespace swage::learner {

bool has_repeated_window(const Trajectory& trajectory) {
  constexpr std::size_t kWindow = 64;
  constexpr std::size_t kTimes = 5;
  std::vector<std::uint32_t> ids;
  for (const auto position : policy_positions(trajectory)) ids.push_back(trajectory.ids[position]);
  if (ids.size() < kWindow * kTimes) return false;
  struct Seen {
    std::size_t times = 0;
    std::size_t free_from = 0;  // first index at which a further one would not overlap the last
  };
  std::map<std::uint64_t, Seen> windows;
  for (std::size_t at = 0; at + kWindow <= ids.size(); ++at) {
    auto& seen = windows[fnv1a(std::span(ids).subspan(at, kWindow))];
    if (seen.times > 0 && at < seen.free_from) continue;
    seen.free_from = at + kWindow;
    if (++seen.times >= kTimes) return true;
  }
  return false;
}

}  // namespace swage::learner
