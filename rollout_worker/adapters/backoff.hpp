#pragma once

#include <algorithm>
#include <random>

#include "common/base/time.hpp"

namespace swage::rollout_worker {

/// Waiting times between tries: doubling from `first` to `most`, each with half of it at random, so
/// that many clients do not come back at once.
class Backoff {
 public:
  Backoff(Duration first, Duration most) : first_(first), most_(most), next_(first) {}
  Duration next() {
    const auto whole = next_;
    next_ = std::min(most_, next_ * 2);
    std::uniform_int_distribution<Duration::rep> part(whole.count() / 2, whole.count());
    return Duration(part(random_));
  }
  void reset() { next_ = first_; }

 private:
  Duration first_, most_, next_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace swage::rollout_worker
