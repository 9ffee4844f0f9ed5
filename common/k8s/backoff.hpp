#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "common/base/time.hpp"

namespace swage::k8s {

/// How long to wait after a failure: 800 ms, doubling to 30 s, each times a random share ("full
/// jitter"), from the start again after two minutes without a failure. Pure.
class Backoff {
 public:
  static constexpr Duration kFirst = std::chrono::milliseconds(800);
  static constexpr Duration kLongest = std::chrono::seconds(30);
  static constexpr Duration kForgotten = std::chrono::minutes(2);

  /// random: in [0, 1). asked: what the server's Retry-After said; it is kept to, plus up to half
  /// of it again, so that those who were sent away together do not return together.
  Duration failed(TimePoint now, double random,
                  std::optional<std::chrono::seconds> asked = std::nullopt) {
    if (last_ && now - *last_ > kForgotten) next_ = kFirst;
    last_ = now;
    const auto ceiling = std::exchange(next_, std::min(next_ * 2, kLongest));
    const auto jittered = scaled(ceiling, random);
    if (!asked) return jittered;
    return std::max(jittered, *asked + scaled(Duration(*asked) / 2, random));
  }

 private:
  static Duration scaled(Duration duration, double share) {
    return std::chrono::duration_cast<Duration>(duration * share);
  }

  Duration next_ = kFirst;
  std::optional<TimePoint> last_;
};

}  // namespace swage::k8s
