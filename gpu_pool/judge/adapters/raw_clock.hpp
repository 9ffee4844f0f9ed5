#pragma once

#include <ctime>

namespace swage::judge {

/// CLOCK_MONOTONIC_RAW in nanoseconds: the judge's clock, which no time service adjusts.
inline double raw_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace swage::judge
