#include "learner/adapters/settings_json.hpp"

#include <limits>

#include "learner/core/stage_plan.hpp"

namespace swage::learner {
namespace {

constexpr std::int64_t kMany = 1'000'000'000;

template <class Number>
void take(Fields& fields, const std::string& name, Number& value, std::int64_t low,
          std::int64_t high = kMany) {
  value = static_cast<Number>(fields.integer(name, static_cast<std::int64_t>(value), low, high));
}

void take(Fields& fields, const std::string& name, double& value, double low, double high) {
  value = fields.number(name, value, low, high);
}

void take_stages(Fields stages, Stages& s) {
  auto single = stages.object("singleTurn");
  s.single_turn.enabled = single.boolean("enabled", s.single_turn.enabled);
  take(single, "steps", s.single_turn.steps, 0);
  take(single, "contextTokens", s.single_turn.context_tokens, 2);
  single.finish();

  auto collect = stages.object("collect");
  s.collect.enabled = collect.boolean("enabled", s.collect.enabled);
  take(collect, "trajectories", s.collect.trajectories, 1);
  const auto actor =
      collect.one_of("actor", {"Policy", "Teacher"}, std::string(to_string(s.collect.actor)));
  s.collect.actor = collect_actor_from(actor).value_or(s.collect.actor);
  collect.finish();

  auto rft = stages.object("rft");
  s.rft.enabled = rft.boolean("enabled", s.rft.enabled);
  take(rft, "epochs", s.rft.epochs, 1);
  take(rft, "learningRate", s.rft.learning_rate, 0.0, 1.0);
  take(rft, "minKept", s.rft.min_kept, 1);
  rft.finish();

  auto critic = stages.object("critic");
  s.critic.enabled = critic.boolean("enabled", s.critic.enabled);
  take(critic, "maxPasses", s.critic.max_passes, 1);
  critic.finish();

  auto agentic = stages.object("agentic");
  s.agentic.enabled = agentic.boolean("enabled", s.agentic.enabled);
  take(agentic, "steps", s.agentic.steps, 1);
  take(agentic, "turns", s.agentic.turns, 1);
  take(agentic, "contextTokens", s.agentic.context_tokens, 2);
  agentic.finish();
  stages.finish();
}

void take_learning(Fields fields, Learning& l) {
  take(fields, "batch", l.batch, 1);
  take(fields, "groupSize", l.group_size, 1);
  take(fields, "actorLearningRate", l.actor_learning_rate, 0.0, 1.0);
  take(fields, "criticLearningRate", l.critic_learning_rate, 0.0, 1.0);
  take(fields, "staleness", l.staleness, 0, 1000);
  take(fields, "checkpointEverySteps", l.checkpoint_every_steps, 1);
  take(fields, "gamma", l.gamma, 0.0, 1.0);
  l.advantage =
      advantage_from(fields.one_of("advantage", {"fixed", "decoupled", "adaptive", "turn", "group"},
                                   std::string(to_string(l.advantage))))
          .value_or(l.advantage);
  // `decoupled` is asked for to lengthen the critic's horizon: its lambda is 1 (design, "Credit").
  const bool given = fields.has("lambda");
  take(fields, "lambda", l.lambda_policy, 0.0, 1.0);
  if (given) l.lambda_value = l.lambda_policy;
  if (l.advantage == AdvantageKind::decoupled) l.lambda_value = 1.0;
  take(fields, "clipLow", l.clip_low, 0.0, 0.999);
  take(fields, "clipHigh", l.clip_high, 0.0, 100.0);
  l.aggregation = aggregation_from(fields.one_of("aggregation",
                                                 {"trajectory-mean", "token-mean", "token-sum",
                                                  "trajectory-sum", "trajectory-sum-norm"},
                                                 std::string(to_string(l.aggregation))))
                      .value_or(l.aggregation);
  l.overlong = overlong_from(fields.one_of("overlong", {"keep", "soft", "mask"},
                                           std::string(to_string(l.overlong))))
                   .value_or(l.overlong);
  l.deterministic = fields.boolean("deterministic", l.deterministic);
  fields.finish();
}

}  // namespace

Settings settings_from(Fields& fields) {
  const auto preset = fields.one_of("preset", {"Cluster", "OneMachine"}, "Cluster");
  auto settings = preset_settings(preset_from(preset).value_or(Preset::cluster));
  take_stages(fields.object("stages"), settings.stages);
  take_learning(fields.object("learning"), settings.learning);
  const auto reward = fields.one_of("reward", {"paper", "speedup"}, "paper");
  settings.reward = reward_from(reward).value_or(RewardKind::paper);
  take(fields, "evaluation_rollouts", settings.evaluation_rollouts, 0);
  if (const auto problem = settings_problem(settings); !problem.empty()) {
    const auto colon = problem.find(": ");
    fields.complain(problem.substr(0, colon), problem.substr(colon + 2));
  }
  return settings;
}

}  // namespace swage::learner
