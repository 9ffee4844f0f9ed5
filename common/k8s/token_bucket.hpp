#pragma once

#include <algorithm>
#include <chrono>

#include "common/base/time.hpp"

namespace swage::k8s {

/// At most `per_second` in the long run and `burst` at once. Pure. per_second 0: no limit.
class TokenBucket {
 public:
  TokenBucket(double per_second, double burst)
      : per_second_(per_second), burst_(burst), level_(burst) {}

  /// Takes one and returns when it may be used: now, or later. Callers are served in their order.
  TimePoint take(TimePoint now) {
    if (per_second_ <= 0) return now;
    const std::chrono::duration<double> since = now - last_;
    if (since.count() > 0) {
      level_ = std::min(burst_, level_ + since.count() * per_second_);
      last_ = now;
    }
    level_ -= 1;
    if (level_ >= 0) return now;
    const std::chrono::duration<double> wait(-level_ / per_second_);
    return last_ + std::chrono::duration_cast<Duration>(wait);
  }

 private:
  double per_second_, burst_, level_;
  TimePoint last_{};
};

}  // namespace swage::k8s
