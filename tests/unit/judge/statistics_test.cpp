#include "gpu_pool/judge/core/statistics.hpp"

#include <gtest/gtest.h>

#include <random>

namespace swage::judge {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(OrderInterval, TakesTheJthFromEachEnd) {
  const Interval q = order_interval({12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 3);
  EXPECT_DOUBLE_EQ(q.lo, 3);
  EXPECT_DOUBLE_EQ(q.hi, 10);
  EXPECT_DOUBLE_EQ(q.median, 6.5);
}

TEST(OrderInterval, HoldsTheMedianAsOftenAsItSays) {
  std::mt19937_64 engine(11);
  std::lognormal_distribution<double> skewed(0, 1);  // median 1
  int held = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(30);
    for (double& value : values) value = skewed(engine);
    const Interval q = order_interval(values, 9);
    held += q.lo <= 1 && 1 <= q.hi ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(held) / kTrials, 0.984, 0.01);
}

TEST(OrderIndex, IsTheLargestThatKeepsNinetyFivePercent) {
  EXPECT_EQ(order_index(6), 1U);
  EXPECT_EQ(order_index(9), 2U);
  EXPECT_EQ(order_index(12), 3U);
  EXPECT_EQ(order_index(20), 6U);
  EXPECT_EQ(order_index(100), 40U);
  EXPECT_DEATH(order_index(5), "too few");
}

TEST(Decided, WhenTheIntervalLiesWhollyOnOneSide) {
  EXPECT_TRUE(decided({0.9, 0.85, 0.949}));
  EXPECT_FALSE(decided({0.94, 0.93, 0.951}));
  EXPECT_TRUE(decided({1.0, 0.95, 1.1}));
}

TEST(CoefficientOfVariation, IsZeroForEqualValuesAndForOne) {
  EXPECT_DOUBLE_EQ(coefficient_of_variation(std::vector<double>{2, 2, 2}), 0);
  EXPECT_DOUBLE_EQ(coefficient_of_variation(std::vector<double>{2}), 0);
  EXPECT_NEAR(coefficient_of_variation(std::vector<double>{1, 3}), 0.7071, 1e-4);
}

TEST(KsDistance, IsZeroForEqualSamplesAndOneForSeparateOnes) {
  EXPECT_DOUBLE_EQ(ks_distance({1, 2, 3}, {3, 2, 1}), 0);
  EXPECT_DOUBLE_EQ(ks_distance({1, 2, 3}, {4, 5, 6}), 1);
  EXPECT_DOUBLE_EQ(ks_distance({0, 0, 1, 1}, {0, 1, 1, 1}), 0.25);
}

TEST(StatisticsDeathTest, AnImpossibleOrderStatisticIsABug) {
  EXPECT_DEATH(order_interval({1, 2, 3}, 3), "no such order statistic");
}

}  // namespace
}  // namespace swage::judge
