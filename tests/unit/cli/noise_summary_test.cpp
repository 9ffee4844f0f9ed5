#include "cli/core/noise_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace swage::cli {
namespace {

using ::testing::HasSubstr;

nlohmann::json verdict(double median, double lo, double hi) {
  return {{"code", "ok"}, {"timing", {{"q_twin", {{"median", median}, {"lo", lo}, {"hi", hi}}}}}};
}

TEST(NoiseSummary, IsSoundWhileNoIntervalLeavesTheFivePercent) {
  NoiseSummary summary;
  summary.add(verdict(1.01, 0.96, 1.04));
  summary.add(verdict(0.97, 0.94, 0.99));
  summary.add({{"code", "timing_unstable"}});
  EXPECT_EQ(summary.runs(), 3U);
  EXPECT_EQ(summary.false_verdicts(), 0U);
  EXPECT_TRUE(summary.sound());
  EXPECT_NEAR(summary.record()["largest_distance"].get<double>(), 0.03, 1e-12);
  EXPECT_THAT(summary.text(), HasSubstr("3 runs of one kernel against itself: 2 ok"));
}

TEST(NoiseSummary, CountsAFalseVerdictInEitherDirection) {
  NoiseSummary faster;
  faster.add(verdict(0.93, 0.92, 0.949));
  EXPECT_FALSE(faster.sound());
  NoiseSummary slower;
  slower.add(verdict(1.08, 1.06, 1.1));
  EXPECT_FALSE(slower.sound());
  EXPECT_THAT(slower.text(), HasSubstr("called faster 0, slower 1"));
}

TEST(NoiseSummary, IsUnsoundWhenTheKernelIsNotEvenRight) {
  NoiseSummary summary;
  summary.add({{"code", "mismatch"}});
  EXPECT_EQ(summary.false_verdicts(), 0U);
  EXPECT_FALSE(summary.sound());
}

}  // namespace
}  // namespace swage::cli
