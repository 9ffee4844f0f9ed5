#pragma once

#include <cstdint>
#include <optional>

#include "learner/api/settings.hpp"

namespace swage::learner {

/// Bounds of rollouts that belong to a preset and that no field of a TrainingRun changes.
struct RolloutLimits {
  std::uint32_t turn_tokens = 0;                  ///< of one policy message
  std::uint32_t observation_tokens = 0;           ///< of one observation
  std::optional<std::uint32_t> evaluation_turns;  ///< nothing: as many as in the agentic stage
};

constexpr RolloutLimits rollout_limits(Preset preset) {
  if (preset == Preset::one_machine) return {512, 256, std::nullopt};
  return {8'192, 8'000, 200};  // 200 turns: the paper's figure for evaluation
}

}  // namespace swage::learner
