#pragma once

#include <chrono>

#include "common/base/time.hpp"

namespace swage {

/// How long each program may take from SIGTERM to its end: the one table of it (docs/PROCESSES.md).
/// The controller sends SIGKILL when the grace is over, and no earlier; a cluster's kubelet gives
/// at least as much.
struct StopGrace {
  std::chrono::milliseconds grace;
  /// A program that is late ends itself by then and says who still runs. After SIGKILL nobody
  /// could: it leaves a quarter of the grace, at most five seconds, for that word to be seen.
  constexpr Duration watchdog() const {
    const std::chrono::milliseconds quarter = grace / 4;
    return grace - (quarter < std::chrono::seconds(5) ? quarter : std::chrono::seconds(5));
  }
};

inline constexpr StopGrace kSandboxStop{std::chrono::seconds(2)};
inline constexpr StopGrace kPolicyStop{std::chrono::seconds(8)};    ///< calls in hand have five
inline constexpr StopGrace kLearnerStop{std::chrono::seconds(45)};  ///< it writes a checkpoint
/// Both after their drain, which is kDefaultDrain on one machine and else configured.
inline constexpr StopGrace kRolloutWorkerStop{std::chrono::seconds(15)};  ///< last deliveries: ten
inline constexpr StopGrace kGpuWorkerStop{std::chrono::seconds(8)};
inline constexpr std::chrono::seconds kDefaultDrain{5};
inline constexpr StopGrace kRedisStop{std::chrono::seconds(5)};
/// On one machine it ends all the others in turn; `swage run` waits longer for it.
inline constexpr StopGrace kLocalControllerStop{std::chrono::seconds(105)};
inline constexpr StopGrace kClusterControllerStop{
    std::chrono::seconds(25)};  ///< the chart gives 30

}  // namespace swage
