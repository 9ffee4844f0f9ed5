#pragma once

#include <cstdint>
#include <span>

namespace swage::judge {

/// What the judge saw of other work on the device just before a call (design judge.md, section 2).
struct Disturbance {
  double gap_us = 0;    ///< longest time for which the device left the judge's own thread standing
  double probe_us = 0;  ///< what an empty piece of work took, from giving it to knowing its end
};

inline constexpr double kMostGapUs = 100;
inline constexpr double kMostProbeUs = 150;

/// Nobody else used the device.
bool is_quiet(const Disturbance& seen);

/// Clocks of the arms of one round, in MHz, differ by more than 2 %.
bool clocks_differ(std::span<const double> mhz);

/// How often the device was busy before the calls of one arm.
struct BusyCount {
  std::uint32_t calls = 0;
  std::uint32_t busy = 0;
};

/// The candidate works when it is not asked to: more than 10 % of its calls found the device busy,
/// and the reference's did not.
bool works_in_the_background(const BusyCount& candidate, const BusyCount& eager);

}  // namespace swage::judge
