#include "policy/core/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace swage::policy {
namespace {

const std::vector<float> kLogits{0.5F, -1.0F, 2.0F, 0.0F, 1.0F, -30.0F};

std::vector<double> softmax(double tau) {
  std::vector<double> out;
  double total = 0;
  for (const float z : kLogits) out.push_back(std::exp(static_cast<double>(z) / tau));
  for (const double x : out) total += x;
  for (double& x : out) x /= total;
  return out;
}

std::vector<double> frequencies(const Sampling& sampling, int draws) {
  std::vector<double> out(kLogits.size());
  for (int i = 0; i < draws; ++i)
    out[sample(kLogits, sampling, static_cast<std::uint64_t>(i))->id] += 1.0 / draws;
  return out;
}

TEST(Sampler, FrequenciesApproachTheSoftmaxAtEachTemperature) {
  constexpr int kDraws = 40'000;
  for (const float tau : {0.6F, 1.0F, 2.0F}) {
    Sampling sampling;
    sampling.temperature = tau;
    sampling.seed = 11;
    const auto expected = softmax(static_cast<double>(tau));
    const auto seen = frequencies(sampling, kDraws);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double deviation = std::sqrt(expected[i] * (1 - expected[i]) / kDraws);
      EXPECT_NEAR(seen[i], expected[i], 4 * deviation + 1e-9) << "tau " << tau << " id " << i;
    }
  }
}

TEST(Sampler, TheBehaviourLogProbabilityIsThatOfTheWholeVocabularyAtTau) {
  Sampling sampling;
  sampling.temperature = 0.6F;
  const auto p = softmax(static_cast<double>(0.6F));
  for (std::uint64_t position = 0; position < 50; ++position) {
    const auto draw = *sample(kLogits, sampling, position);
    EXPECT_NEAR(draw.behaviour_logprob, std::log(p[draw.id]), 1e-5);
    EXPECT_EQ(draw.filter_logmass, 0);
  }
}

TEST(Sampler, ADrawDependsOnSeedAndPositionOnly) {
  Sampling a;
  a.seed = 1;
  Sampling b;
  b.seed = 2;
  int differ = 0;
  for (std::uint64_t position = 0; position < 100; ++position) {
    EXPECT_EQ(sample(kLogits, a, position)->id, sample(kLogits, a, position)->id);
    differ += sample(kLogits, a, position)->id != sample(kLogits, b, position)->id;
  }
  EXPECT_GT(differ, 10);
}

TEST(Sampler, TemperatureZeroTakesTheLargestAndTheLowestIdAmongEquals) {
  Sampling sampling;
  sampling.temperature = 0;
  EXPECT_EQ(sample(kLogits, sampling, 0)->id, 2U);
  EXPECT_EQ(sample(std::vector<float>{1, 3, 3}, sampling, 0)->id, 1U);
}

TEST(Sampler, FiltersKeepWhatTheySayAndTellTheMassTheyLeft) {
  const auto p = softmax(1);
  Sampling top_k;
  top_k.top_k = 2;  // ids 2 and 4
  Sampling top_p;
  top_p.top_p = static_cast<float>(p[2] + p[4] / 2);  // the second is needed to reach it
  Sampling min_p;
  min_p.min_p = static_cast<float>(p[4] / p[2] * 0.99);
  for (const auto& sampling : {top_k, top_p, min_p}) {
    const auto seen = frequencies(sampling, 20'000);
    const double mass = p[2] + p[4];
    EXPECT_NEAR(seen[2], p[2] / mass, 0.02);
    EXPECT_NEAR(seen[4], p[4] / mass, 0.02);
    const auto draw = *sample(kLogits, sampling, 0);
    EXPECT_NEAR(draw.behaviour_logprob, std::log(p[draw.id]), 1e-5);
    EXPECT_NEAR(draw.filter_logmass, std::log(mass), 1e-5);
  }
}

TEST(Sampler, LogitsThatAreNotFiniteGiveNothing) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(sample(std::vector<float>{0, kNan, 1}, {}, 0));
  EXPECT_FALSE(sample(std::vector<float>{kNan, 0}, {}, 0));
  EXPECT_FALSE(sample(std::vector<float>{0, kInf}, {}, 0));
  EXPECT_TRUE(sample(std::vector<float>{0, -kInf}, {}, 0));  // an impossible id is fine
}

TEST(Sampler, NumbersOutOfRangeAreNamed) {
  const auto with = [](auto change) {
    Sampling sampling;
    change(sampling);
    return bad_sampling(sampling);
  };
  EXPECT_FALSE(bad_sampling({}));
  EXPECT_TRUE(with([](Sampling& s) { s.temperature = -1; }));
  EXPECT_TRUE(with([](Sampling& s) { s.temperature = 1e-4F; }));
  EXPECT_TRUE(with([](Sampling& s) { s.top_p = 1.5F; }));
  EXPECT_TRUE(with([](Sampling& s) { s.min_p = 1; }));
}

}  // namespace
}  // namespace swage::policy
