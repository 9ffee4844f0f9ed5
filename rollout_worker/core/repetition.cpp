#include "rollout_worker/core/repetition.hpp"

#include <algorithm>

#include "common/base/redundant_turns.hpp"

namespace swage::rollout_worker {

double redundant_share(std::span<const TurnRecord> turns) {
  if (turns.empty()) return 0;
  const auto redundant = redundant_turns(turns);
  const auto count = std::count(redundant.begin(), redundant.end(), true);
  return static_cast<double>(count) / static_cast<double>(turns.size());
}

}  // namespace swage::rollout_worker
