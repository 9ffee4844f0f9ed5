#include "gpu_pool/judge/core/outcome.hpp"

#include <gtest/gtest.h>

namespace swage::judge {
namespace {

Interval around(double median) { return {median, median - 0.01, median + 0.01}; }

TEST(Tier, IsThreeForWhatBeatsBothArms) {
  EXPECT_EQ(tier_of({around(0.5), 50, 100, around(0.6), 83}), 3U);
}

TEST(Tier, IsTwoForWhatBeatsEagerAlone) {
  EXPECT_EQ(tier_of({around(0.5), 50, 100, around(1.0), 50}), 2U);
  EXPECT_EQ(tier_of({around(0.5), 50, 100, std::nullopt, std::nullopt}), 2U);
}

TEST(Tier, IsOneForWhatOnlyBeatsInductor) {
  EXPECT_EQ(tier_of({around(1.0), 100, 100, around(0.5), 200}), 1U);
}

TEST(Tier, GivesAnIntervalAcrossTheLimitToTheLowerTier) {
  EXPECT_EQ(tier_of({{0.90, 0.80, 0.949}, 90, 100, std::nullopt, std::nullopt}), 2U);
  EXPECT_EQ(tier_of({{0.90, 0.80, 0.951}, 90, 100, std::nullopt, std::nullopt}), 1U);
}

TEST(Tier, NeedsTheRawMediansToAgree) {
  EXPECT_EQ(tier_of({around(0.5), 101, 100, std::nullopt, std::nullopt}), 1U);
}

TEST(Reward, IsTheTierOfWhatIsRight) {
  EXPECT_EQ(reward_of(Code::ok, 1), 1.0);
  EXPECT_EQ(reward_of(Code::ok, 3), 3.0);
}

TEST(Reward, IsMinusOneForEveryFailureOfTheCandidate) {
  for (auto code = static_cast<int>(Code::compile_error); code <= static_cast<int>(Code::gpu_fault);
       ++code)
    EXPECT_EQ(reward_of(static_cast<Code>(code), 0), -1.0) << name_of(static_cast<Code>(code));
}

TEST(Reward, IsOneForARightCandidateThatCouldNotBeTimed) {
  EXPECT_EQ(reward_of(Code::timing_unstable, 0), 1.0);
}

TEST(Reward, IsAbsentWhenTheCandidateIsNotToBlame) {
  EXPECT_EQ(reward_of(Code::task_invalid, 0), std::nullopt);
  EXPECT_EQ(reward_of(Code::infra_error, 0), std::nullopt);
}

}  // namespace
}  // namespace swage::judge
