#include "controller/core/pool_reconciler.hpp"

#include <gmock/gmock.h>

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

ProfilingPool fixed(int replicas) {
  ProfilingPool out;
  out.scaling.mode = ScalingMode::fixed;
  out.replicas = replicas;
  return out;
}
ProfilingPool builtin(int least, int most) {
  ProfilingPool out;
  out.scaling.min_replicas = least;
  out.scaling.max_replicas = most;
  return out;
}

class PoolReconcilerTest : public ::testing::Test {
 protected:
  PoolReconciler::Actions tick(const ProfilingPool& pool, std::uint64_t demand = 0) {
    return reconciler_.tick(pool, gpus_, demand, now_);
  }
  void gpu(const std::string& name, const std::string& state, PodPhase phase = PodPhase::ready) {
    gpus_[name] = {phase, state};
  }
  PoolReconciler reconciler_;
  std::map<std::string, GpuView> gpus_;
  TimePoint now_{1000s};
};

TEST_F(PoolReconcilerTest, AFixedPoolIsFilledUpAtOnce) {
  EXPECT_EQ(tick(fixed(3)).create, 3);
  gpu("a", "", PodPhase::pending);
  EXPECT_EQ(tick(fixed(3)).create, 2);  // a pod that starts counts
}

TEST_F(PoolReconcilerTest, TheQuarantinedLeaveFirstThenThoseThatDoNotServeThenTheIdle) {
  gpu("a", "idle");
  gpu("b", "leased");
  gpu("c", "quarantined");
  gpu("d", "", PodPhase::pending);
  EXPECT_THAT(tick(fixed(2)).remove, ElementsAre("c", "d"));
  gpus_.erase("c");
  gpus_.erase("d");
  EXPECT_THAT(tick(fixed(1)).remove, ElementsAre("a"));
}

TEST_F(PoolReconcilerTest, ALeasedGpuStaysUntilItsLeaseIsOver) {
  for (const auto* name : {"a", "b", "c"}) gpu(name, "leased");
  EXPECT_THAT(tick(fixed(1)).remove, IsEmpty());
  now_ += 100s;
  EXPECT_THAT(tick(fixed(1)).remove, IsEmpty());
  gpu("b", "idle");
  EXPECT_THAT(tick(fixed(1)).remove, ElementsAre("b"));
  gpus_.erase("b");
  EXPECT_EQ(tick(fixed(1)).create, 0);
  EXPECT_EQ(reconciler_.leaving(), 1U);
}

TEST_F(PoolReconcilerTest, AfterTheDrainTimeItsWorkerIsAskedToFinishAndGo) {
  gpu("a", "leased");
  const auto pool = fixed(0);
  EXPECT_THAT(tick(pool).remove, IsEmpty());
  now_ += std::chrono::seconds(pool.drain_seconds) - 1s;
  EXPECT_THAT(tick(pool).remove, IsEmpty());
  now_ += 1s;
  EXPECT_THAT(tick(pool).remove, ElementsAre("a"));
}

TEST_F(PoolReconcilerTest, ABuiltinPoolGrowsFromZeroAtOnceAndLaterAfterTenSeconds) {
  const auto pool = builtin(0, 128);
  EXPECT_EQ(tick(pool, 0).create, 0);
  EXPECT_EQ(tick(pool, 100).create, 4);  // at most four at first
  for (const auto* name : {"a", "b", "c", "d"}) gpu(name, "leased");
  now_ += 5s;
  EXPECT_EQ(tick(pool, 100).create, 0);
  now_ += 24s;
  EXPECT_EQ(tick(pool, 100).create, 0);  // thirty seconds between two steps
  now_ += 1s;
  EXPECT_EQ(tick(pool, 100).create, 4);
}

TEST_F(PoolReconcilerTest, ABuiltinPoolStaysWithinItsBounds) {
  EXPECT_EQ(tick(builtin(2, 8), 0).create, 2);
  gpu("a", "idle");
  gpu("b", "idle");
  now_ += 60s;
  std::ignore = tick(builtin(2, 3), 1000);
  now_ += 11s;
  EXPECT_EQ(tick(builtin(2, 3), 1000).create, 1);
}

TEST_F(PoolReconcilerTest, ItShrinksOnlyAfterFiveCalmMinutesAndByAQuarter) {
  const auto pool = builtin(0, 16);
  for (int i = 0; i < 8; ++i) gpu("g" + std::to_string(i), "idle");
  std::size_t removed = 0;
  for (int second = 0; second < 290; second += 5) {
    removed += tick(pool, second == 50 ? 16 : 0).remove.size();
    now_ += 5s;
  }
  EXPECT_EQ(removed, 0U);
  for (int second = 0; second < 55; second += 5) {  // the last need is 300 s old at the end
    removed += tick(pool, 0).remove.size();
    now_ += 5s;
  }
  EXPECT_EQ(removed, 0U);
  now_ += 5s;
  EXPECT_EQ(tick(pool, 0).remove.size(), 2U);
  EXPECT_EQ(reconciler_.leaving(), 2U);
}

TEST_F(PoolReconcilerTest, ASmallDifferenceIsLeftAlone) {
  const auto pool = builtin(0, 64);
  for (int i = 0; i < 20; ++i) gpu("g" + std::to_string(i), "leased");
  for (int second = 0; second < 60; second += 5) {
    EXPECT_EQ(tick(pool, 44).create, 0);  // 22 wanted, 20 there
    now_ += 5s;
  }
}

}  // namespace
}  // namespace swage::controller
