#include "learner/core/stage_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "common/base/philox.hpp"

namespace swage::learner {

std::vector<StageSlot> stage_plan(const Settings& settings) {
  const auto& s = settings.stages;
  std::vector<StageSlot> plan;
  if (s.single_turn.enabled) plan.push_back({Stage::single_turn, 0});
  if (s.collect.enabled) plan.push_back({Stage::collect, 0});
  if (s.rft.enabled) plan.push_back({Stage::rft, 0});
  if (settings.evaluation_rollouts > 0) plan.push_back({Stage::evaluation, 1});
  if (s.critic.enabled) plan.push_back({Stage::critic, 0});
  if (s.agentic.enabled) plan.push_back({Stage::agentic, 0});
  if (settings.evaluation_rollouts > 0) plan.push_back({Stage::evaluation, 2});
  plan.push_back({Stage::done, 0});
  return plan;
}

std::string slot_name(const StageSlot& slot) {
  std::string name(to_string(slot.stage));
  if (slot.round > 0) name += std::to_string(slot.round);
  return name;
}

bool is_ppo(Stage stage) { return stage == Stage::single_turn || stage == Stage::agentic; }

std::uint64_t largest_context(const Settings& settings) {
  const auto& s = settings.stages;
  std::uint64_t context = s.agentic.context_tokens;
  if (s.single_turn.enabled)
    context = std::max<std::uint64_t>(context, s.single_turn.context_tokens);
  return context;
}

std::string settings_problem(const Settings& settings) {
  const auto& s = settings.stages;
  const auto& l = settings.learning;
  if (l.batch == 0 || l.group_size == 0) return "learning.batch, learning.groupSize: must be >= 1";
  if (l.batch % l.group_size != 0)
    return "learning.batch: must be a multiple of learning.groupSize, so that groups stay whole";
  if (l.temperature <= 0) return "learning.temperature: must be above 0";
  if (l.gamma < 0 || l.gamma > 1) return "learning.gamma: must be in [0, 1]";
  if (l.lambda_policy < 0 || l.lambda_policy > 1) return "learning.lambda: must be in [0, 1]";
  if (l.clip_low < 0 || l.clip_low >= 1) return "learning.clipLow: must be in [0, 1)";
  if (l.clip_high < 0) return "learning.clipHigh: must be >= 0";
  if (l.actor_learning_rate < 0) return "learning.actorLearningRate: must be >= 0";
  if (l.critic_learning_rate < 0) return "learning.criticLearningRate: must be >= 0";
  if (s.rft.learning_rate < 0) return "stages.rft.learningRate: must be >= 0";
  if (l.epochs == 0) return "learning.epochs: must be >= 1";
  if (s.rft.enabled && !s.collect.enabled)
    return "stages.rft: needs stages.collect, which makes its trajectories; disable both or none";
  if (s.critic.enabled && !s.collect.enabled)
    return "stages.critic: needs stages.collect, which makes its trajectories; disable both or "
           "none";
  if (s.collect.enabled && s.collect.trajectories == 0)
    return "stages.collect.trajectories: must be >= 1";
  if (s.agentic.context_tokens < 2) return "stages.agentic.contextTokens: must be >= 2";
  return {};
}

double warmup_constant(double rate, std::uint64_t step, std::uint64_t warmup) {
  if (warmup == 0 || step >= warmup) return rate;
  return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
}

double warmup_cosine(double rate, std::uint64_t step, std::uint64_t warmup, std::uint64_t total) {
  if (step < warmup) return warmup_constant(rate, step, warmup);
  if (total <= warmup || step >= total) return total <= warmup ? rate : 0.0;
  const double done = static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
  return rate * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
}

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, Stage stage,
                                  std::uint64_t epoch) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto stream = (static_cast<std::uint64_t>(stage) << 32U) | epoch;
  for (std::size_t i = count; i > 1; --i) {
    const auto j =
        static_cast<std::size_t>(philox_uniform(seed, stream, i) * static_cast<double>(i));
    std::swap(order[i - 1], order[std::min(j, i - 1)]);
  }
  return order;
}

}  // namespace swage::learner
