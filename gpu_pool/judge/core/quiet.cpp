#include "gpu_pool/judge/core/quiet.hpp"

#include <algorithm>

namespace swage::judge {
namespace {

constexpr double kClockShare = 0.02;
constexpr double kBusyShare = 0.1;

double share(const BusyCount& count) {
  return count.calls == 0 ? 0 : static_cast<double>(count.busy) / count.calls;
}

}  // namespace

bool is_quiet(const Disturbance& seen) {
  return seen.gap_us <= kMostGapUs && seen.probe_us <= kMostProbeUs;
}

bool clocks_differ(std::span<const double> mhz) {
  if (mhz.empty()) return false;
  const auto [low, high] = std::ranges::minmax(mhz);
  return high - low > kClockShare * high;
}

bool works_in_the_background(const BusyCount& candidate, const BusyCount& eager) {
  return share(candidate) > kBusyShare && share(eager) <= kBusyShare;
}

}  // namespace swage::judge
