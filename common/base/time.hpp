#pragma once

#include <chrono>

namespace swage {

/// Time inside a process: the steady clock. Durations travel on the wire, time points never do.
using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

/// Milliseconds since 1970 by the wall clock; for records that people read, never for decisions.
inline std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace swage
