#include "controller/core/capacity.hpp"

#include <algorithm>

namespace swage::controller {
namespace {

std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

/// Accepted by the learner, reported to us by a worker, not yet in a status.
std::uint64_t unseen(const LearnerStatus& status, const InHand& hand) {
  return minus(hand.accepted, status.accepted);
}

/// What this stage may have started by now, over its whole life.
std::uint64_t allowance(const LearnerStatus& status, std::uint64_t steps_ahead) {
  std::uint64_t steps = status.step + steps_ahead;
  if (status.steps_total > 0) steps = std::min(steps, status.steps_total);
  return steps * status.batch;
}

/// What of it is used up, running ones left out.
std::uint64_t used(const LearnerStatus& status, const InHand& hand) {
  return minus(status.consumed + status.ready + unseen(status, hand), hand.orphans);
}

}  // namespace

std::uint64_t capacity(const LearnerStatus& status, const InHand& hand) {
  const std::uint64_t room = minus(hand.max_running, hand.running);
  if (status.stage == Stage::collect || is_evaluation(status.stage)) {
    const auto accepted = std::max(status.accepted, hand.accepted);
    return std::min(room, minus(status.target, accepted + hand.running));
  }
  if (is_ppo(status.stage)) {
    const auto allowed = allowance(status, std::uint64_t{status.staleness} + 1);
    return std::min(room, minus(allowed, used(status, hand) + hand.running));
  }
  return 0;
}

std::uint64_t rollouts_left(const LearnerStatus& status, const InHand& hand) {
  if (status.stage == Stage::collect || is_evaluation(status.stage))
    return minus(status.target, std::max(status.accepted, hand.accepted));
  if (is_ppo(status.stage)) {
    const auto ahead = status.steps_total > 0 ? minus(status.steps_total, status.step)
                                              : std::uint64_t{status.staleness} + 1;
    return minus(allowance(status, ahead), used(status, hand));
  }
  return 0;
}

}  // namespace swage::controller
