#include "controller/core/sandbox_pool.hpp"

#include <gtest/gtest.h>

namespace swage::controller {
namespace {

using namespace std::chrono_literals;

class SandboxPoolTest : public ::testing::Test {
 protected:
  std::uint64_t grow(std::uint64_t left = 1000) {
    const auto wanted = pool_.tick(now_, left, live_);
    for (std::uint64_t i = 0; i < wanted.create; ++i) pool_.created(next(), now_);
    return wanted.create;
  }
  std::string next() { return "s" + std::to_string(++made_); }
  void make_ready(int from, int to) {
    for (int i = from; i <= to; ++i) pool_.ready("s" + std::to_string(i), now_);
  }

  TimePoint now_{std::chrono::hours(1)};
  SandboxPool pool_{SandboxSettings{}};
  std::set<std::string> live_;
  int made_ = 0;
};

TEST_F(SandboxPoolTest, TheOldestReadyOneIsClaimedAndReplaced) {
  EXPECT_EQ(grow(), 4U);
  EXPECT_EQ(pool_.claim(now_), std::nullopt);
  make_ready(2, 2);
  now_ += 1s;
  make_ready(1, 1);
  EXPECT_EQ(pool_.claim(now_), "s2");
  EXPECT_EQ(pool_.claim(now_), "s1");
  EXPECT_EQ(pool_.counts().claimed, 2U);
  EXPECT_EQ(grow(), 3U);  // two in their place, and one because claims have begun
}

TEST_F(SandboxPoolTest, NoMoreStayWarmThanRolloutsAreLeft) {
  EXPECT_EQ(grow(2), 2U);
  EXPECT_EQ(grow(0), 0U);
}

TEST_F(SandboxPoolTest, TheWarmSizeFollowsClaimsAndReadyTimes) {
  EXPECT_EQ(pool_.warm_target(now_, 1000), 4U);
  grow();
  for (int round = 0; round < 15; ++round) {
    grow();
    now_ += 2s;  // until they are ready
    make_ready(1, made_);
    for (int i = 0; i < 4; ++i) pool_.claim(now_);
  }
  // 60 claims in 60 s: one a second, times the ready time, times 1.5, above the least.
  EXPECT_GT(pool_.warm_target(now_, 1000), 4U);
  EXPECT_EQ(pool_.warm_target(now_ + 61s, 1000), 4U);
}

TEST_F(SandboxPoolTest, EndingIsAskedForOnceAndAnUnexpectedDeathIsNoticed) {
  grow();
  make_ready(1, 2);
  EXPECT_TRUE(pool_.end("s1"));
  EXPECT_FALSE(pool_.end("s1"));
  EXPECT_FALSE(pool_.gone("s1", now_));
  EXPECT_TRUE(pool_.gone("s2", now_));
  EXPECT_FALSE(pool_.end("s2"));
}

TEST_F(SandboxPoolTest, ManyDeathsOpenTheCircuitUntilThreeBecomeReady) {
  for (int i = 0; i < 9; ++i) {
    const auto uid = next();
    pool_.created(uid, now_);
    pool_.gone(uid, now_);
  }
  grow();
  EXPECT_FALSE(pool_.circuit_open());  // nine are not ten
  const auto uid = next();
  pool_.created(uid, now_);
  pool_.gone(uid, now_);
  pool_.tick(now_, 1000, live_);
  EXPECT_TRUE(pool_.circuit_open());
  for (int i = 10; i <= 13; ++i) pool_.gone("s" + std::to_string(i), now_);
  EXPECT_EQ(grow(), 0U);
  now_ += 10s;
  EXPECT_EQ(grow(), 1U);
  EXPECT_EQ(grow(), 0U);
  for (int i = 0; i < 3; ++i) {
    pool_.ready("s" + std::to_string(made_), now_);
    now_ += 10s;
    grow();
  }
  EXPECT_FALSE(pool_.circuit_open());
}

TEST_F(SandboxPoolTest, AClaimedOneWithoutARolloutIsReapedAfterAMinute) {
  grow();
  make_ready(1, 4);
  pool_.claim(now_);
  pool_.claim(now_);
  live_ = {"s2"};
  now_ += 61s;
  EXPECT_EQ(pool_.tick(now_, 1000, live_).remove, std::vector<std::string>{"s1"});
}

TEST_F(SandboxPoolTest, OneThatIsNotReadyInTimeIsReplaced) {
  grow();
  make_ready(1, 3);
  now_ += 61s;
  const auto wanted = pool_.tick(now_, 1000, live_);
  EXPECT_EQ(wanted.remove, std::vector<std::string>{"s4"});
  EXPECT_EQ(wanted.create, 1U);
}

}  // namespace
}  // namespace swage::controller
