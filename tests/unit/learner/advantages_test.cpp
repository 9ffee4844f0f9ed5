#include "learner/core/advantages.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "learner/core/aggregation.hpp"

namespace swage::learner {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A(lambda) by its definition: the sum over l of (gamma·lambda)^l · delta_{k+l}, term by term.
double advantage_by_definition(const std::vector<double>& r, const std::vector<double>& v,
                               double boot, double gamma, double lambda, std::size_t k) {
  double sum = 0;
  for (std::size_t l = 0; k + l < r.size(); ++l) {
    const double next = k + l + 1 < v.size() ? v[k + l + 1] : boot;
    const double delta = r[k + l] + gamma * next - v[k + l];
    sum += std::pow(gamma * lambda, static_cast<double>(l)) * delta;
  }
  return sum;
}

std::vector<double> numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> out(count);
  for (auto& x : out) x = normal(random);
  return out;
}

Episode episode(std::size_t n, unsigned seed, std::uint64_t group = 0) {
  Episode e;
  e.rewards = numbers(n, seed);
  e.values = numbers(n, seed + 1000);
  e.turn_of_token.assign(n, 0);
  e.group = group;
  return e;
}

TEST(Advantages, AgreeWithTheDefinitionTermByTerm) {
  const auto r = numbers(37, 1);
  const auto v = numbers(37, 2);
  for (const double lambda : {0.0, 0.5, 0.95, 1.0})
    for (const double boot : {0.0, 0.7}) {
      const auto a = generalised_advantages(r, v, boot, 0.99, lambda);
      for (std::size_t k = 0; k < r.size(); ++k)
        EXPECT_NEAR(a[k], advantage_by_definition(r, v, boot, 0.99, lambda, k), 1e-12);
    }
}

TEST(Advantages, WithGammaAndLambdaOneAreTheReturnLessTheValue) {
  const std::vector<double> r{0, 0, 3}, v{0.5, 1, 2};
  EXPECT_THAT(generalised_advantages(r, v, 0, 1, 1), ElementsAre(2.5, 2, 1));
}

TEST(Advantages, FixedReturnsAreAdvantagePlusValue) {
  Learning learning;
  const auto e = episode(9, 3);
  const auto out = estimate_advantages(std::vector{e}, learning);
  for (std::size_t k = 0; k < 9; ++k)
    EXPECT_NEAR(out[0].returns[k], out[0].advantages[k] + e.values[k], 1e-12);
}

TEST(Advantages, DecoupledTakesAnotherLambdaForTheReturns) {
  Learning learning;
  learning.advantage = AdvantageKind::decoupled;
  learning.lambda_value = 1.0;
  const auto e = episode(9, 4);
  const auto out = estimate_advantages(std::vector{e}, learning);
  double to_go = 0;
  for (std::size_t k = 9; k-- > 0;) {
    to_go += e.rewards[k];
    EXPECT_NEAR(out[0].returns[k], to_go, 1e-12);
    EXPECT_NEAR(out[0].advantages[k], advantage_by_definition(e.rewards, e.values, 0, 1, 0.95, k),
                1e-12);
  }
}

TEST(Advantages, AdaptiveLambdaGrowsWithTheLength) {
  Learning learning;
  learning.advantage = AdvantageKind::adaptive;
  const auto short_one = episode(10, 5);
  const auto long_one = episode(200, 6);
  const auto out = estimate_advantages(std::vector{short_one, long_one}, learning);
  // alpha·n = 0.5 gives lambda 0; alpha·n = 10 gives lambda 0.9.
  EXPECT_NEAR(out[0].advantages[0],
              short_one.rewards[0] + short_one.values[1] - short_one.values[0], 1e-12);
  EXPECT_NEAR(out[1].advantages[0],
              advantage_by_definition(long_one.rewards, long_one.values, 0, 1, 0.9, 0), 1e-12);
}

TEST(Advantages, TurnsShareOneAdvantageAndTrainTheValueAtTheirFirstToken) {
  Learning learning;
  learning.advantage = AdvantageKind::turn;
  Episode e;
  e.rewards = {0, 1, 0, 2, 0};
  e.values = {0.5, 9, 0.25, 9, 9};
  e.turn_of_token = {0, 0, 1, 1, 1};
  const auto out = estimate_advantages(std::vector{e}, learning);
  const double second = 2 - 0.25;
  const double first = (1 + 0.25 - 0.5) + 0.95 * second;
  EXPECT_THAT(out[0].advantages, ElementsAre(first, first, second, second, second));
  EXPECT_THAT(out[0].value_mask, ElementsAre(1, 0, 1, 0, 0));
  EXPECT_DOUBLE_EQ(out[0].returns[0], first + 0.5);
}

TEST(Advantages, GroupsAreCentredAndGroupsOfOneGiveZero) {
  Learning learning;
  learning.advantage = AdvantageKind::group;
  auto a = episode(2, 7, 1), b = episode(3, 8, 1), alone = episode(2, 9, 2);
  a.rewards = {0, 3};
  b.rewards = {0, 0, 1};
  const auto out = estimate_advantages(std::vector{a, b, alone}, learning);
  const double std_dev = std::sqrt(2.0);
  EXPECT_THAT(out[0].advantages, Each(DoubleNear(1.0 / (std_dev + 1e-6), 1e-12)));
  EXPECT_THAT(out[1].advantages, Each(DoubleNear(-1.0 / (std_dev + 1e-6), 1e-12)));
  EXPECT_THAT(out[2].advantages, Each(0.0));
  EXPECT_THAT(out[0].returns, IsEmpty());
}

TEST(Advantages, AnEmptyTrajectoryChangesNobodyElse) {
  Learning learning;
  const auto a = episode(5, 10), b = episode(7, 11);
  const Episode empty;
  auto with = estimate_advantages(std::vector{a, empty, b}, learning);
  auto without = estimate_advantages(std::vector{a, b}, learning);
  whiten(with);
  whiten(without);
  EXPECT_EQ(with[0].advantages, without[0].advantages);
  EXPECT_EQ(with[2].advantages, without[1].advantages);
  EXPECT_THAT(with[1].advantages, IsEmpty());
}

TEST(Whitening, UsesTheUnbiasedVarianceOfAllPolicyTokens) {
  std::vector<Estimate> parts(2);
  parts[0].advantages = {1, 2};
  parts[1].advantages = {6};
  const auto w = whiten(parts);
  EXPECT_TRUE(w.applied);
  EXPECT_DOUBLE_EQ(w.mean, 3);
  EXPECT_DOUBLE_EQ(w.variance, 7);  // (4 + 1 + 9) / 2
  EXPECT_NEAR(parts[1].advantages[0], 3 / std::sqrt(7 + 1e-8), 1e-12);
}

TEST(Whitening, LeavesASingleTokenAlone) {
  std::vector<Estimate> parts(1);
  parts[0].advantages = {5};
  EXPECT_FALSE(whiten(parts).applied);
  EXPECT_THAT(parts[0].advantages, ElementsAre(5));
}

TEST(Whitening, DoesNotDependOnTheOrderOfTheTrajectories) {
  Learning learning;
  std::vector<Episode> episodes;
  for (unsigned i = 0; i < 6; ++i) episodes.push_back(episode(3 + i, 20 + i));
  auto forward = estimate_advantages(episodes, learning);
  std::reverse(episodes.begin(), episodes.end());
  auto backward = estimate_advantages(episodes, learning);
  whiten(forward);
  whiten(backward);
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t k = 0; k < forward[i].advantages.size(); ++k)
      EXPECT_NEAR(forward[i].advantages[k], backward[5 - i].advantages[k], 1e-12);
}

TEST(ExplainedVariance, IsOneForPerfectValuesAndAbsentWhereItMeansNothing) {
  const std::vector<double> r{1, 2, 3, 4}, flat{2, 2, 2, 2};
  EXPECT_NEAR(*explained_variance(r, r, false), 1.0, 1e-9);
  EXPECT_NEAR(*explained_variance(r, flat, false), 1 - 5.0 / 3 / (5.0 / 3 + 1e-5), 1e-9);
  EXPECT_FALSE(explained_variance(flat, r, false));
  EXPECT_FALSE(explained_variance(r, r, true));
  EXPECT_FALSE(explained_variance(std::vector<double>{1.0}, std::vector<double>{1.0}, false));
}

TEST(ExplainedVariance, MostRewardsEqualMeansMoreThanHalf) {
  EXPECT_TRUE(most_equal(std::vector<double>{3, 3, 1}));
  EXPECT_FALSE(most_equal(std::vector<double>{3, 3, 1, 1}));
}

TEST(Aggregation, WeighsEachTokenOnceForTheGlobalBatch) {
  const std::vector<std::uint64_t> n{2, 0, 3};
  using enum Aggregation;
  EXPECT_THAT(token_weights(n, trajectory_mean, 10), ElementsAre(1.0 / 4, 0, 1.0 / 6));
  EXPECT_THAT(token_weights(n, token_mean, 10), ElementsAre(0.2, 0, 0.2));
  EXPECT_THAT(token_weights(n, token_sum, 10), ElementsAre(1, 0, 1));
  EXPECT_THAT(token_weights(n, trajectory_sum, 10), ElementsAre(0.5, 0, 0.5));
  EXPECT_THAT(token_weights(n, trajectory_sum_norm, 10), ElementsAre(0.05, 0, 0.05));
}

}  // namespace
}  // namespace swage::learner
