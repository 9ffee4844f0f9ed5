#pragma once

#include <memory>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/time.hpp"

namespace swage {

/// Where time comes from. Core code is handed `now`; app code asks this. Thread: any; sleep_until
/// resumes on the caller's executor, and `stop` must belong to the caller's strand.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
  /// Returns at `when`, or as soon as `stop` is requested.
  virtual Task<> sleep_until(TimePoint when, StopSource& stop) = 0;

  Task<> sleep_for(Duration duration, StopSource& stop) {
    return sleep_until(now() + duration, stop);
  }
};

/// The process's steady clock.
std::unique_ptr<Clock> make_steady_clock();

}  // namespace swage
