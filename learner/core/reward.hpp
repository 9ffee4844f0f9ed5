#pragma once

#include <optional>
#include <vector>

#include "learner/api/settings.hpp"
#include "learner/api/trajectory.hpp"

namespace swage::learner {

/// r(verdict). Wrong work: -1. paper: the tier 1, 2 or 3; 1 where no time could be measured.
/// speedup: t_compile / t, median of the rounds; -1 where there is no such ratio. Nothing where the
/// verdict cannot decide: it was not a scoring, the fault was not the agent's, or right work has no
/// tier.
std::optional<double> reward_of(const VerdictSummary& verdict, RewardKind kind);

/// The sum of a trajectory's rewards before any overlong rule; 0 if it has none.
double total_reward(const Trajectory& trajectory);

/// Rewards by policy token, [n]. One at an observation moves to the nearest earlier policy token
/// (to the first one if there is none earlier); with n = 0 nothing is left of them.
/// `soft` subtracts (T − (context − L_c))/L_c, between 0 and 1, from the last token of a truncated
/// trajectory.
std::vector<double> token_rewards(const Trajectory& trajectory, const Learning& learning,
                                  std::uint64_t context);

}  // namespace swage::learner
