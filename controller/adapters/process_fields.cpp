#include "controller/adapters/process_fields.hpp"

namespace swage::controller {

using nlohmann::json;

json stage_fields(const learner::Stages& stages) {
  return {{"singleTurn",
           {{"enabled", stages.single_turn.enabled},
            {"steps", stages.single_turn.steps},
            {"contextTokens", stages.single_turn.context_tokens}}},
          {"collect",
           {{"enabled", stages.collect.enabled},
            {"trajectories", stages.collect.trajectories},
            {"actor", learner::to_string(stages.collect.actor)}}},
          {"rft",
           {{"enabled", stages.rft.enabled},
            {"epochs", stages.rft.epochs},
            {"learningRate", stages.rft.learning_rate},
            {"minKept", stages.rft.min_kept}}},
          {"critic", {{"enabled", stages.critic.enabled}, {"maxPasses", stages.critic.max_passes}}},
          {"agentic",
           {{"enabled", stages.agentic.enabled},
            {"steps", stages.agentic.steps},
            {"turns", stages.agentic.turns},
            {"contextTokens", stages.agentic.context_tokens}}}};
}

json learning_fields(const learner::Learning& learning) {
  return {{"batch", learning.batch},
          {"groupSize", learning.group_size},
          {"actorLearningRate", learning.actor_learning_rate},
          {"criticLearningRate", learning.critic_learning_rate},
          {"staleness", learning.staleness},
          {"checkpointEverySteps", learning.checkpoint_every_steps},
          {"gamma", learning.gamma},
          {"lambda", learning.lambda_policy},
          {"clipLow", learning.clip_low},
          {"clipHigh", learning.clip_high},
          {"advantage", learner::to_string(learning.advantage)},
          {"aggregation", learner::to_string(learning.aggregation)},
          {"overlong", learner::to_string(learning.overlong)},
          {"deterministic", learning.deterministic}};
}

}  // namespace swage::controller
