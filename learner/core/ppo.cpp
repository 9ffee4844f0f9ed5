#include "learner/core/ppo.hpp"

#include <algorithm>

#include "common/base/check.hpp"
#include "learner/core/advantages.hpp"
#include "learner/core/aggregation.hpp"
#include "learner/core/repetition.hpp"
#include "learner/core/reward.hpp"
#include "learner/core/rft_filter.hpp"

namespace swage::learner {
namespace {

std::vector<std::uint32_t> turns_of_tokens(const Trajectory& t) {
  std::vector<std::uint32_t> out;
  std::uint32_t turn = 0;
  for (const auto position : policy_positions(t)) {
    while (turn + 1 < t.turns.size() && position >= t.turns[turn].observation_end) ++turn;
    out.push_back(turn);
  }
  return out;
}

Episode episode_of(const Trajectory& t, const std::vector<double>& values, const Learning& learning,
                   std::uint64_t context) {
  Episode e;
  e.rewards = token_rewards(t, learning, context);
  e.values = values;
  e.turn_of_token = turns_of_tokens(t);
  e.group = t.group_id;
  return e;
}

/// 1 at the policy tokens that these weights sampled.
std::vector<std::uint8_t> sampled_by(const Trajectory& t, std::uint64_t version) {
  std::vector<std::uint8_t> out;
  for (const auto position : policy_positions(t))
    out.push_back(std::any_of(t.spans.begin(), t.spans.end(), [&](const VersionSpan& span) {
      return span.version == version && span.begin <= position && position < span.end;
    }));
  return out;
}

std::vector<double> joined(std::span<const std::vector<double>> parts) {
  std::vector<double> out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::vector<double> lengths_to_weights(std::span<const Trajectory* const> trajectories,
                                       const Learning& learning, std::uint64_t context) {
  std::vector<std::uint64_t> lengths;
  for (const auto* t : trajectories) lengths.push_back(policy_positions(*t).size());
  return token_weights(lengths, learning.aggregation, context);
}

}  // namespace

Sequence sequence_of(const Trajectory& trajectory) {
  return {trajectory.rollout_id, trajectory.ids, policy_positions(trajectory)};
}

BatchFigures batch_figures(std::span<const Trajectory* const> batch, const Learning& learning) {
  BatchFigures f;
  std::vector<double> rewards;
  double turns = 0;
  double truncated = 0;
  double repeating = 0;
  double sampled = 0;
  for (const auto* t : batch) {
    const auto n = policy_positions(*t).size();
    if (n == 0) continue;
    ++sampled;
    truncated += t->truncated ? 1 : 0;
    if (t->truncated && learning.overlong == Overlong::mask) continue;
    ++f.trajectories;
    f.tokens += t->ids.size();
    f.policy_tokens += n;
    rewards.push_back(total_reward(*t));
    turns += static_cast<double>(t->turns.size());
    repeating += has_redundant_loop(t->turns) || has_repeated_window(*t) ? 1 : 0;
  }
  if (sampled > 0) f.truncated_share = truncated / sampled;
  if (f.trajectories == 0) return f;
  const double count = static_cast<double>(f.trajectories);
  for (const double r : rewards) f.reward_mean += r / count;
  f.length_mean = static_cast<double>(f.tokens) / count;
  f.turns_mean = turns / count;
  f.repetition_share = repeating / count;
  return f;
}

bool takes_part(const Trajectory& trajectory, Use use, const Learning& learning) {
  if (use != Use::ppo) return false;
  if (learning.overlong == Overlong::mask && trajectory.truncated) return false;
  return std::find(trajectory.mask.begin(), trajectory.mask.end(), 1) != trajectory.mask.end();
}

PpoTargets ppo_targets(std::span<const Trajectory* const> trajectories,
                       std::span<const std::vector<double>> values, const Learning& learning,
                       std::uint64_t context, std::uint64_t version) {
  check(trajectories.size() == values.size(), "values for each trajectory");
  std::vector<Episode> episodes;
  std::vector<double> rewards;
  for (std::size_t i = 0; i < trajectories.size(); ++i) {
    episodes.push_back(episode_of(*trajectories[i], values[i], learning, context));
    rewards.push_back(total_reward(*trajectories[i]));
  }
  auto estimates = estimate_advantages(episodes, learning);
  PpoTargets out;
  const bool has_critic = learning.advantage != AdvantageKind::group;
  if (has_critic) {
    std::vector<std::vector<double>> returns;
    returns.reserve(estimates.size());
    for (const auto& e : estimates) returns.push_back(e.returns);
    out.explained_variance =
        explained_variance(joined(returns), joined(values), most_equal(rewards));
  }
  if (learning.whiten && has_critic) out.whitened = whiten(estimates).applied;
  const auto weights = lengths_to_weights(trajectories, learning, context);
  for (std::size_t i = 0; i < trajectories.size(); ++i) {
    const auto& t = *trajectories[i];
    const std::size_t n = episodes[i].rewards.size();
    ActorTargets actor;
    actor.advantages = std::move(estimates[i].advantages);
    actor.weights.assign(n, weights[i]);
    for (const auto position : policy_positions(t))
      actor.old_logprobs.push_back(static_cast<double>(t.behaviour_logprobs[position]));
    if (version != 0) actor.current = sampled_by(t, version);
    out.actor.push_back(std::move(actor));
    if (!has_critic) continue;
    CriticTargets critic{std::move(estimates[i].returns), values[i], {}};
    for (std::size_t k = 0; k < n; ++k)
      critic.weights.push_back(estimates[i].value_mask[k] != 0 ? weights[i] : 0.0);
    out.critic.push_back(std::move(critic));
  }
  return out;
}

std::vector<std::vector<double>> critic_returns(std::span<const Trajectory* const> trajectories,
                                                std::span<const std::vector<double>> values,
                                                const Learning& learning, std::uint64_t context) {
  check(trajectories.size() == values.size(), "values for each trajectory");
  std::vector<std::vector<double>> out;
  for (std::size_t i = 0; i < trajectories.size(); ++i) {
    const auto rewards = token_rewards(*trajectories[i], learning, context);
    auto returns = generalised_advantages(rewards, values[i], 0.0, 1.0, learning.lambda_value);
    for (std::size_t k = 0; k < returns.size(); ++k) returns[k] += values[i][k];
    out.push_back(std::move(returns));
  }
  return out;
}

std::vector<std::vector<double>> monte_carlo_returns(
    std::span<const Trajectory* const> trajectories, const Learning& learning,
    std::uint64_t context) {
  std::vector<std::vector<double>> out;
  for (const auto* t : trajectories) {
    auto returns = token_rewards(*t, learning, context);
    for (std::size_t k = returns.size(); k-- > 1;) returns[k - 1] += returns[k];
    out.push_back(std::move(returns));
  }
  return out;
}

std::optional<double> explained_variance_of(std::span<const std::vector<double>> returns,
                                            std::span<const std::vector<double>> values) {
  return explained_variance(joined(returns), joined(values), false);
}

std::vector<std::vector<double>> spread_weights(std::span<const Sequence> sequences,
                                                Aggregation mode, std::uint64_t context) {
  std::vector<std::uint64_t> lengths;
  for (const auto& s : sequences) lengths.push_back(s.positions.size());
  const auto weights = token_weights(lengths, mode, context);
  std::vector<std::vector<double>> out;
  out.reserve(sequences.size());
  for (std::size_t i = 0; i < sequences.size(); ++i)
    out.emplace_back(sequences[i].positions.size(), weights[i]);
  return out;
}

}  // namespace swage::learner
