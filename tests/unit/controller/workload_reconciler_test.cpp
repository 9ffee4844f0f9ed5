#include "controller/core/workload_reconciler.hpp"

#include <gmock/gmock.h>

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WorkloadReconcilerTest : public ::testing::Test {
 protected:
  std::vector<std::string> tick() {
    std::vector<std::string> out;
    for (const auto& start : pods_.tick(now_)) {
      pods_.started(start.name, start.name + "-uid");
      out.push_back(start.name);
    }
    return out;
  }
  void see(const std::string& name, PodPhase phase, std::optional<int> code = std::nullopt) {
    PodEvent event;
    event.name = name;
    event.uid = name + "-uid";
    event.phase = phase;
    event.exit_code = code;
    event.detail = "as the test says";
    pods_.observed(event, now_);
  }

  TimePoint now_{std::chrono::hours(1)};
  WorkloadReconciler pods_{{{"redis", Component::redis, {}},
                            {"gpu", Component::gpu_worker, {"redis"}},
                            {"learner", Component::learner, {}}},
                           RestartPolicy{}};
};

TEST_F(WorkloadReconcilerTest, APodStartsWhenWhatItNeedsIsReady) {
  EXPECT_THAT(tick(), ElementsAre("redis", "learner"));
  EXPECT_THAT(tick(), IsEmpty());
  see("redis", PodPhase::running);
  EXPECT_THAT(tick(), IsEmpty());
  see("redis", PodPhase::ready);
  EXPECT_THAT(tick(), ElementsAre("gpu"));
  EXPECT_FALSE(pods_.all_ready());
  see("gpu", PodPhase::ready);
  see("learner", PodPhase::ready);
  EXPECT_TRUE(pods_.all_ready());
}

TEST_F(WorkloadReconcilerTest, ADeadPodIsRestartedAtOnceThenWithGrowingDelays) {
  tick();
  see("learner", PodPhase::failed);
  EXPECT_THAT(tick(), ElementsAre("learner"));
  see("learner", PodPhase::failed, 1);
  EXPECT_THAT(tick(), IsEmpty());
  now_ += 499ms;
  EXPECT_THAT(tick(), IsEmpty());
  now_ += 1ms;
  EXPECT_THAT(tick(), ElementsAre("learner"));
  see("learner", PodPhase::failed, 1);
  now_ += 999ms;
  EXPECT_THAT(tick(), IsEmpty());
  now_ += 1ms;
  EXPECT_THAT(tick(), ElementsAre("learner"));
  EXPECT_EQ(pods_.restarts(), 3U);
}

TEST_F(WorkloadReconcilerTest, AMinuteOfServiceForgetsTheDelay) {
  tick();
  see("learner", PodPhase::failed);
  tick();
  see("learner", PodPhase::ready);
  now_ += 60s;
  see("learner", PodPhase::failed);
  EXPECT_THAT(tick(), ElementsAre("learner"));
}

TEST_F(WorkloadReconcilerTest, ASpentRestartBudgetEndsTheRun) {
  tick();
  for (int i = 0; i < 10; ++i) {
    see("learner", PodPhase::failed, 1);
    EXPECT_FALSE(pods_.given_up()) << i;
    now_ += 30s;
    tick();
  }
  see("learner", PodPhase::failed, 1);
  ASSERT_TRUE(pods_.given_up());
  EXPECT_EQ(pods_.given_up()->pod, "learner");
  EXPECT_THAT(tick(), IsEmpty());
}

TEST_F(WorkloadReconcilerTest, AnExitCodeThatNoRestartHelpsEndsTheRunAtOnce) {
  for (const int code : {64, 69, 74}) {
    WorkloadReconciler one({{"learner", Component::learner, {}}}, {});
    one.tick(now_);
    one.started("learner", "u");
    one.observed({"learner", "u", Component::learner, PodPhase::failed, code, "", 0, 0}, now_);
    ASSERT_TRUE(one.given_up()) << code;
    EXPECT_EQ(one.given_up()->exit_code, code);
  }
  tick();
  see("learner", PodPhase::failed, 70);
  EXPECT_FALSE(pods_.given_up());
}

TEST_F(WorkloadReconcilerTest, AnEventOfAnEarlierLifeChangesNothing) {
  tick();
  PodEvent event;
  event.name = "learner";
  event.uid = "another";
  event.phase = PodPhase::failed;
  pods_.observed(event, now_);
  EXPECT_THAT(tick(), IsEmpty());
}

TEST_F(WorkloadReconcilerTest, AReleasedPodStaysDown) {
  tick();
  pods_.release("learner");
  see("learner", PodPhase::failed, 1);
  now_ += 60s;
  EXPECT_THAT(tick(), IsEmpty());
  EXPECT_FALSE(pods_.given_up());
}

}  // namespace
}  // namespace swage::controller
