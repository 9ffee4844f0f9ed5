#pragma once

#include <cstdint>

#include "controller/api/learner_view.hpp"

namespace swage::controller {

/// What the dispatcher knows beside the learner's status, all of the learner's current stage.
struct InHand {
  std::uint64_t running = 0;      ///< planned or on a worker, reserved members included
  std::uint64_t accepted = 0;     ///< known to be in the learner's log
  std::uint64_t orphans = 0;      ///< accepted members of groups given up: never trained
  std::uint64_t max_running = 0;  ///< rollouts.concurrency
};

/// How many more rollouts may start (design learning.md, section 7), never negative:
///   collect, evaluation: min(max_running - running, wanted - accepted - running)
///   PPO: min(max_running - running, (staleness + s + 1)*B - (consumed + ready + running)), and
///        nothing beyond the stage's last step
///   rft, critic, done: 0
/// A trajectory that a worker reported before the learner's status counts it stands under both
/// formulas as accepted already, so that the two streams cannot race.
std::uint64_t capacity(const LearnerStatus& status, const InHand& hand);

/// How many rollouts the stage still has to start or finish: the bound of the warm pool.
std::uint64_t rollouts_left(const LearnerStatus& status, const InHand& hand);

}  // namespace swage::controller
