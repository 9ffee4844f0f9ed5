#include "learner/core/ppo.hpp"

#include <gmock/gmock.h>

#include "tests/unit/learner/sample.hpp"

namespace swage::learner {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

constexpr std::uint64_t kContext = 1024;

Learning one_machine() { return preset_settings(Preset::one_machine).learning; }

std::vector<std::vector<double>> some_values(const std::vector<Trajectory>& batch) {
  std::vector<std::vector<double>> out;
  double next = 0.1;
  for (const auto& t : batch) {
    out.emplace_back();
    for (std::size_t k = 0; k < policy_positions(t).size(); ++k) out.back().push_back(next += 0.07);
  }
  return out;
}

PpoTargets targets_of(const std::vector<Trajectory>& batch, const Learning& learning) {
  std::vector<const Trajectory*> all;
  for (const auto& t : batch) all.push_back(&t);
  return ppo_targets(all, some_values(batch), learning, kContext);
}

void expect_equal(const PpoTargets& a, const PpoTargets& b) {
  ASSERT_EQ(a.actor.size(), b.actor.size());
  for (std::size_t i = 0; i < a.actor.size(); ++i) {
    EXPECT_THAT(a.actor[i].advantages, Pointwise(DoubleNear(1e-12), b.actor[i].advantages));
    EXPECT_THAT(a.actor[i].weights, Pointwise(DoubleNear(1e-12), b.actor[i].weights));
    EXPECT_THAT(a.critic[i].returns, Pointwise(DoubleNear(1e-12), b.critic[i].returns));
    EXPECT_THAT(a.critic[i].weights, Pointwise(DoubleNear(1e-12), b.critic[i].weights));
  }
}

TEST(PpoTargets, ObservationsOfAnyLengthChangeNothing) {
  const std::vector<Trajectory> with{sample_trajectory("a", 3, 9, 3),
                                     sample_trajectory("b", 2, 5, -1)};
  const std::vector<Trajectory> without{sample_trajectory("a", 3, 1, 3),
                                        sample_trajectory("b", 2, 1, -1)};
  for (const auto kind : {AdvantageKind::fixed, AdvantageKind::decoupled, AdvantageKind::adaptive,
                          AdvantageKind::turn}) {
    auto learning = one_machine();
    learning.advantage = kind;
    expect_equal(targets_of(with, learning), targets_of(without, learning));
  }
}

TEST(PpoTargets, NanAtMaskedPositionsIsNeverRead) {
  auto t = sample_trajectory("a", 2, 4, 3);
  const auto before = targets_of({t}, one_machine());
  for (std::size_t i = 0; i < t.ids.size(); ++i)
    if (t.mask[i] == 0) t.behaviour_logprobs[i] = -1e10F;
  const auto after = targets_of({t}, one_machine());
  expect_equal(before, after);
  EXPECT_EQ(before.actor[0].old_logprobs, after.actor[0].old_logprobs);
}

TEST(PpoTargets, PermutedTrajectoriesGiveThePermutedTargets) {
  const auto a = sample_trajectory("a", 2, 4, 3), b = sample_trajectory("b", 4, 4, -1);
  const Trajectory* forward[] = {&a, &b};
  const Trajectory* backward[] = {&b, &a};
  const auto values = some_values({a, b});
  const std::vector<std::vector<double>> swapped{values[1], values[0]};
  const auto one = ppo_targets(forward, values, one_machine(), kContext);
  const auto two = ppo_targets(backward, swapped, one_machine(), kContext);
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_THAT(one.actor[i].advantages, Pointwise(DoubleNear(1e-12), two.actor[1 - i].advantages));
    EXPECT_EQ(one.actor[i].weights, two.actor[1 - i].weights);
  }
}

TEST(PpoTargets, WeightsOfABatchSumToOne) {
  const auto targets =
      targets_of({sample_trajectory("a", 2), sample_trajectory("b", 5)}, one_machine());
  double sum = 0;
  for (const auto& actor : targets.actor)
    for (const double w : actor.weights) sum += w;
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

TEST(PpoTargets, TokensOfTheCurrentWeightsAreMarked) {
  auto t = sample_trajectory("a", 3);
  t.spans[1].version = 4;
  t.spans[2].version = 5;
  t.spans.insert(t.spans.begin() + 2, {t.spans[2].begin, t.spans[2].begin + 1, 4});
  ++t.spans[3].begin;  // the version changed inside the last message
  const Trajectory* one[] = {&t};
  const auto current = [&](std::uint64_t version) {
    return ppo_targets(one, some_values({t}), one_machine(), kContext, version).actor[0].current;
  };
  EXPECT_THAT(current(5), ElementsAre(0, 0, 0, 0, 0, 0, 0, 1, 1));
  EXPECT_THAT(current(4), ElementsAre(0, 0, 0, 1, 1, 1, 1, 0, 0));
  EXPECT_THAT(current(0), ElementsAre());
}

TEST(PpoTargets, WhiteningOfOneTokenIsReportedAsNotDone) {
  auto t = sample_trajectory("a", 1);
  EXPECT_TRUE(targets_of({t}, one_machine()).whitened);
  t.mask[5] = t.mask[6] = 0;
  EXPECT_FALSE(targets_of({t}, one_machine()).whitened);
}

TEST(PpoTargets, GroupNeedsNoCritic) {
  auto learning = one_machine();
  learning.advantage = AdvantageKind::group;
  auto a = sample_trajectory("a", 2, 4, 3), b = sample_trajectory("b", 2, 4, 1);
  a.group_id = b.group_id = 4;
  const Trajectory* both[] = {&a, &b};
  const std::vector<std::vector<double>> none(2);
  const auto targets = ppo_targets(both, none, learning, kContext);
  EXPECT_TRUE(targets.critic.empty());
  EXPECT_GT(targets.actor[0].advantages[0], 0);
  EXPECT_NEAR(targets.actor[0].advantages[0], -targets.actor[1].advantages[0], 1e-12);
}

TEST(TakesPart, OnlySampledPpoTrajectoriesThatAreNotMaskedAsOverlong) {
  auto learning = one_machine();
  auto t = sample_trajectory();
  EXPECT_TRUE(takes_part(t, Use::ppo, learning));
  EXPECT_FALSE(takes_part(t, Use::imitation, learning));
  t.truncated = true;
  EXPECT_TRUE(takes_part(t, Use::ppo, learning));
  learning.overlong = Overlong::mask;
  EXPECT_FALSE(takes_part(t, Use::ppo, learning));
  t.truncated = false;
  EXPECT_TRUE(takes_part(t, Use::ppo, learning));
  t.mask.assign(t.mask.size(), 0);
  EXPECT_FALSE(takes_part(t, Use::ppo, learning));
}

TEST(BatchFigures, LeaveOutTrajectoriesWithoutSampledTokens) {
  auto empty = sample_trajectory("e", 2, 4, -1);
  empty.mask.assign(empty.mask.size(), 0);
  auto cut = sample_trajectory("c", 2, 4, 1);
  cut.truncated = true;
  const auto whole = sample_trajectory("w", 2, 4, 3);
  const Trajectory* batch[] = {&empty, &cut, &whole};
  const auto f = batch_figures(batch, one_machine());
  EXPECT_EQ(f.trajectories, 2U);
  EXPECT_EQ(f.policy_tokens, 12U);
  EXPECT_DOUBLE_EQ(f.reward_mean, 2);
  EXPECT_EQ(f.truncated_share, 0.5);
}

TEST(BatchFigures, MaskLeavesTruncatedOnesOutOfAllButTheirShare) {
  auto cut = sample_trajectory("c", 5, 4, -1);
  cut.truncated = true;
  const auto whole = sample_trajectory("w", 2, 4, 3);
  const Trajectory* batch[] = {&cut, &whole};
  auto learning = one_machine();
  EXPECT_DOUBLE_EQ(batch_figures(batch, learning).reward_mean, 1);
  learning.overlong = Overlong::mask;
  const auto f = batch_figures(batch, learning);
  EXPECT_EQ(f.trajectories, 1U);
  EXPECT_EQ(f.policy_tokens, 6U);
  EXPECT_DOUBLE_EQ(f.reward_mean, 3);
  EXPECT_DOUBLE_EQ(f.turns_mean, 2);
  EXPECT_EQ(f.truncated_share, 0.5);
  const Trajectory* only[] = {&cut};
  EXPECT_EQ(batch_figures(only, learning).trajectories, 0U);
  EXPECT_EQ(batch_figures(only, learning).truncated_share, 1.0);
  EXPECT_EQ(batch_figures({}, learning).truncated_share, std::nullopt);
}

TEST(CriticReturns, WithLambdaOneAreTheMonteCarloReturn) {
  auto learning = one_machine();
  const auto t = sample_trajectory("a", 2, 4, 3);
  const Trajectory* one[] = {&t};
  const auto returns = critic_returns(one, some_values({t}), learning, kContext);
  EXPECT_THAT(returns[0],
              ElementsAre(DoubleNear(3, 1e-12), DoubleNear(3, 1e-12), DoubleNear(3, 1e-12),
                          DoubleNear(3, 1e-12), DoubleNear(3, 1e-12), DoubleNear(3, 1e-12)));
}

TEST(CriticReturns, TheMonteCarloReturnIsWhatIsStillEarned) {
  auto t = sample_trajectory("a", 2, 4, 3);                 // 6 sampled tokens, reward 3 at the end
  t.rewards.push_back({t.turns[0].policy_end, 1, "step"});  // moves to the third token
  const Trajectory* one[] = {&t};
  EXPECT_THAT(monte_carlo_returns(one, one_machine(), kContext)[0], ElementsAre(4, 4, 4, 3, 3, 3));
}

/// Two trajectories of one sampled token each, that earned 3 and -1. With V = (0, 0) and lambda
/// 0.95 or 1 alike the returns are (3, -1): the mean is 1, the unbiased variance 8.
/// V = (2, 0): errors (1, -1), variance 2, explained 1 - 2/8.
/// V = (-1, 3): errors (4, -4), variance 32, explained 1 - 32/8.
TEST(CriticReturns, ExplainedVarianceOfTheMonteCarloReturnByHand) {
  auto good = sample_trajectory("a", 1, 4, 3), bad = sample_trajectory("b", 1, 4, -1);
  for (auto* t : {&good, &bad}) t->mask[5] = t->mask[6] = 0;
  const Trajectory* both[] = {&good, &bad};
  const auto returns = monte_carlo_returns(both, one_machine(), kContext);
  const auto explained = [&](double a, double b) {
    const std::vector<std::vector<double>> values{{a}, {b}};
    return explained_variance_of(returns, values).value_or(99);
  };
  EXPECT_NEAR(explained(2, 0), 0.75, 1e-5);
  EXPECT_NEAR(explained(0, 0), 0, 1e-5);
  EXPECT_NEAR(explained(-1, 3), -3, 1e-5);
}

/// With a short horizon the critic's own targets follow its values, so it explains these well and
/// what is earned not at all. One trajectory of three sampled tokens earns 3, the other -1; V is
/// (-1, -1, -1) and (3, 3, 3); lambda 0, gamma 1. Targets: r_k + V_{k+1}, so (-1, -1, 3) and
/// (3, 3, -1): mean 1, squares 6 * 4, variance 24/5. Errors: (0, 0, 4), (0, 0, -4): mean 0,
/// variance 32/5; explained 1 - 32/24 = -1/3. Monte-Carlo: (3, 3, 3), (-1, -1, -1): variance 24/5,
/// errors 4 and -4 three times each, variance 96/5; explained 1 - 96/24 = -3.
TEST(CriticReturns, ItsOwnTargetsFlatterACriticWithAShortHorizon) {
  auto learning = one_machine();
  learning.lambda_value = 0;
  const auto good = sample_trajectory("a", 1, 4, 3), bad = sample_trajectory("b", 1, 4, -1);
  const Trajectory* both[] = {&good, &bad};
  const std::vector<std::vector<double>> values{{-1, -1, -1}, {3, 3, 3}};
  const auto targets = critic_returns(both, values, learning, kContext);
  EXPECT_THAT(targets[0], ElementsAre(-1, -1, 3));
  EXPECT_NEAR(*explained_variance_of(targets, values), -1.0 / 3, 1e-5);
  const auto whole = monte_carlo_returns(both, learning, kContext);
  EXPECT_NEAR(*explained_variance_of(whole, values), -3, 1e-5);
}

}  // namespace
}  // namespace swage::learner
