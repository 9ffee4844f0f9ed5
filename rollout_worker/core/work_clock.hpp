#pragma once

#include <optional>

#include "common/base/check.hpp"
#include "common/base/time.hpp"

namespace swage::rollout_worker {

/// A rollout's wall clock: it stands still while at least one evaluation is waited for. Pure.
class WorkClock {
 public:
  WorkClock(TimePoint started, Duration limit) : deadline_(started + limit) {}

  void pause(TimePoint now) {
    if (pauses_++ == 0) paused_at_ = now;
  }
  void resume(TimePoint now) {
    check(pauses_ > 0, "the clock runs already");
    if (--pauses_ == 0) deadline_ += now - paused_at_;
  }
  /// When time is up; nothing while the clock stands still.
  std::optional<TimePoint> deadline() const {
    if (pauses_ > 0) return std::nullopt;
    return deadline_;
  }

 private:
  TimePoint deadline_;
  TimePoint paused_at_{};
  int pauses_ = 0;
};

}  // namespace swage::rollout_worker
