#pragma once

#include <span>

#include "rollout_worker/api/trajectory.hpp"

namespace swage::rollout_worker {

/// Share of redundant turns (common/base/redundant_turns.hpp), 0 to 1. 0 for no turns.
double redundant_share(std::span<const TurnRecord> turns);

}  // namespace swage::rollout_worker
