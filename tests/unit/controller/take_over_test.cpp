#include <gmock/gmock.h>

#include "controller/core/dispatcher.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kUid = "abcdef0123456789";

std::string id(std::uint64_t group) { return make_rollout_id(kUid, {Stage::collect, group, 0}); }

/// A new leader: workers run rollouts that its predecessor gave them.
class TakeOverTest : public ::testing::Test {
 protected:
  explicit TakeOverTest(Duration take_over = 5s) : dispatcher_(settings(take_over)) {
    dispatcher_.tick(now_);
    LearnerStatus status;
    status.stage = Stage::collect;
    status.target = 4;
    status.accepted = 1;
    dispatcher_.learner_accepted({id(0)});
    dispatcher_.learner_status(status);
    dispatcher_.worker_joined("w1", 8, now_);
  }
  static DispatchSettings settings(Duration take_over) {
    DispatchSettings out;
    out.run_uid = kUid;
    out.max_running = 8;
    out.take_over = take_over;
    return out;
  }
  void report(std::uint64_t group, std::uint32_t attempt = 1) {
    dispatcher_.worker_reported("w1", {{id(group), attempt}, "sandbox", 3, 100}, now_);
  }
  std::vector<std::string> start_all() {
    std::vector<std::string> out;
    while (const auto start = dispatcher_.next(now_)) {
      out.push_back(start->attempt.rollout_id + "/" + std::to_string(start->attempt.number));
      dispatcher_.claimed(start->attempt, start->worker, "new-sandbox");
      dispatcher_.sent(start->attempt, now_);
    }
    return out;
  }
  std::size_t cancelled() {
    std::size_t out = 0;
    for (const auto& action : dispatcher_.take_actions())
      out += std::holds_alternative<CancelOnWorker>(action) ? 1 : 0;
    return out;
  }

  TimePoint now_{std::chrono::hours(1)};
  Dispatcher dispatcher_;
};

class NoTakeOverTest : public TakeOverTest {
 protected:
  NoTakeOverTest() : TakeOverTest(Duration{}) {}
};

TEST_F(TakeOverTest, NothingIsPlannedBeforeTheWorkersHadTimeToReport) {
  EXPECT_THAT(start_all(), IsEmpty());
  now_ += 4s;
  dispatcher_.tick(now_);
  EXPECT_THAT(start_all(), IsEmpty());
  now_ += 1s;
  dispatcher_.tick(now_);
  EXPECT_THAT(start_all(), ElementsAre(id(1) + "/1", id(2) + "/1", id(3) + "/1"));
}

TEST_F(TakeOverTest, WhatAWorkerReportsIsItsOwnAndNobodyElseGetsIt) {
  report(2);
  EXPECT_EQ(cancelled(), 0U);
  ASSERT_TRUE(dispatcher_.live().contains(id(2)));
  EXPECT_EQ(dispatcher_.live().at(id(2)).sandbox_uid, "sandbox");
  now_ += 5s;
  dispatcher_.tick(now_);
  EXPECT_THAT(start_all(), ElementsAre(id(1) + "/1", id(3) + "/1"));
  dispatcher_.worker_ended("w1", {{id(2), 1}, true, "", false}, now_);
  EXPECT_FALSE(dispatcher_.live().contains(id(2)));
}

TEST_F(TakeOverTest, AReportThatComesTooLateForARolloutThatWasGivenAwayIsCancelled) {
  now_ += 5s;
  dispatcher_.tick(now_);
  start_all();
  dispatcher_.worker_joined("w2", 8, now_);
  dispatcher_.worker_reported("w2", {{id(1), 1}, "old", 3, 100}, now_);
  EXPECT_EQ(cancelled(), 1U);
}

TEST_F(TakeOverTest, AnAttemptThatWasGivenUpIsNotTakenBack) {
  report(1);
  dispatcher_.worker_died("w1", now_);
  EXPECT_EQ(dispatcher_.live().at(id(1)).attempt.number, 2U);
  dispatcher_.worker_joined("w1", 8, now_);
  dispatcher_.take_actions();
  report(1, 1);
  EXPECT_EQ(cancelled(), 1U);
}

TEST_F(TakeOverTest, WhatTheLearnerHasIsNotTakenOver) {
  report(0);
  EXPECT_FALSE(dispatcher_.live().contains(id(0)));
  EXPECT_EQ(cancelled(), 0U);  // its end is on the way
}

TEST_F(NoTakeOverTest, WithoutItAReportOfAForeignRolloutIsCancelledAndPlanningBeginsAtOnce) {
  report(2);
  EXPECT_EQ(cancelled(), 1U);
  EXPECT_THAT(start_all(), ElementsAre(id(1) + "/1", id(2) + "/1", id(3) + "/1"));
}

}  // namespace
}  // namespace swage::controller
