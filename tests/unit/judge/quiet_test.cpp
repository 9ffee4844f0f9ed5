#include "gpu_pool/judge/core/quiet.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "gpu_pool/judge/core/sampling.hpp"

namespace swage::judge {
namespace {

TEST(Quiet, EitherSignOfOtherWorkIsEnough) {
  EXPECT_TRUE(is_quiet({.gap_us = 100, .probe_us = 150}));
  EXPECT_FALSE(is_quiet({.gap_us = 101, .probe_us = 20}));
  EXPECT_FALSE(is_quiet({.gap_us = 3, .probe_us = 151}));
}

TEST(Quiet, ClocksMayDifferByTwoPercentOfTheFastest) {
  EXPECT_FALSE(clocks_differ({}));
  const std::vector<double> near{1980, 1941, 1980};
  EXPECT_FALSE(clocks_differ(near));
  const std::vector<double> far{1980, 1940, 1980};
  EXPECT_TRUE(clocks_differ(far));
}

TEST(Quiet, OnlyACandidateThatIsBusyWhereEagerIsNotWorksInTheBackground) {
  EXPECT_FALSE(works_in_the_background({.calls = 30, .busy = 3}, {.calls = 30, .busy = 0}));
  EXPECT_TRUE(works_in_the_background({.calls = 30, .busy = 4}, {.calls = 30, .busy = 3}));
  EXPECT_FALSE(works_in_the_background({.calls = 30, .busy = 30}, {.calls = 30, .busy = 4}));
  EXPECT_FALSE(works_in_the_background({}, {}));
}

TEST(SamplePosition, StaysInsideAndReachesBothEnds) {
  bool first = false;
  bool last = false;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const auto at = sample_position(7, i, 64);
    ASSERT_LE(at + kSampleBytes, 64U);
    first = first || at == 0;
    last = last || at == 60;
  }
  EXPECT_TRUE(first);
  EXPECT_TRUE(last);
  EXPECT_EQ(sample_position(7, 3, kSampleBytes), 0U);
}

TEST(SamplePosition, AnotherSeedLooksElsewhere) {
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i)
    same += sample_position(1, i, 1U << 30) == sample_position(2, i, 1U << 30) ? 1 : 0;
  EXPECT_LT(same, 3);
}

}  // namespace
}  // namespace swage::judge
