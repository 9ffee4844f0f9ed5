#include "controller/core/rollout_bounds.hpp"

#include "learner/api/rollout_limits.hpp"

namespace swage::controller {

RolloutBounds bounds_of(const TrainingRun& run, Stage stage) {
  const auto& stages = run.learning.stages;
  const auto limits = learner::rollout_limits(run.learning.preset);
  RolloutBounds out;
  out.turns = stages.agentic.turns;
  out.context_tokens = stages.agentic.context_tokens;
  if (stage == Stage::single_turn) {
    out.turns = 1;
    out.context_tokens = stages.single_turn.context_tokens;
  }
  if (is_evaluation(stage)) out.turns = limits.evaluation_turns.value_or(out.turns);
  out.turn_tokens = limits.turn_tokens;
  out.observation_tokens = limits.observation_tokens;
  out.wall_clock_seconds = static_cast<std::uint32_t>(run.rollouts.wall_clock_seconds);
  return out;
}

}  // namespace swage::controller
