#pragma once

#include <span>

#include "rollout_worker/api/trajectory.hpp"

namespace swage::rollout_worker {

/// Share of redundant turns, 0 to 1 (learning.md, section 5): an earlier turn has the same calls
/// and observation, and the work directory has not changed since. 0 for no turns.
double redundant_share(std::span<const TurnRecord> turns);

}  // namespace swage::rollout_worker
