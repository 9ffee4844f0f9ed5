#include "controller/core/capacity.hpp"

#include <gtest/gtest.h>

#include "controller/core/dispatcher.hpp"

namespace swage::controller {
namespace {

LearnerStatus ppo(std::uint64_t step, std::uint64_t consumed, std::uint64_t ready) {
  LearnerStatus status;
  status.stage = Stage::agentic;
  status.step = step;
  status.steps_total = 8;
  status.batch = 16;
  status.group_size = 2;
  status.consumed = consumed;
  status.ready = ready;
  status.accepted = consumed + ready;
  return status;
}

InHand hand(std::uint64_t running, std::uint64_t accepted, std::uint64_t max_running = 100) {
  InHand out;
  out.running = running;
  out.accepted = accepted;
  out.max_running = max_running;
  return out;
}

TEST(Capacity, WithStalenessZeroExactlyOneBatchIsUnderWay) {
  EXPECT_EQ(capacity(ppo(0, 0, 0), hand(0, 0)), 16U);
  EXPECT_EQ(capacity(ppo(0, 0, 10), hand(6, 10)), 0U);
  EXPECT_EQ(capacity(ppo(0, 0, 16), hand(0, 16)), 0U);   // while the step computes
  EXPECT_EQ(capacity(ppo(1, 16, 0), hand(0, 16)), 16U);  // the next batch
}

TEST(Capacity, AStalenessBoundLetsThatManyBatchesRunAhead) {
  auto status = ppo(0, 0, 0);
  status.staleness = 2;
  EXPECT_EQ(capacity(status, hand(0, 0)), 48U);
  EXPECT_EQ(capacity(status, hand(40, 0)), 8U);
}

TEST(Capacity, NothingStartsBeyondTheLastStep) {
  auto status = ppo(7, 7 * 16, 0);
  status.staleness = 2;
  EXPECT_EQ(capacity(status, hand(0, 7 * 16)), 16U);
}

TEST(Capacity, ATrajectoryThatTheStatusDoesNotCountYetTakesItsPlace) {
  // 16 were started, all delivered, and the learner's status is older than the workers' word.
  EXPECT_EQ(capacity(ppo(0, 0, 13), hand(0, 16)), 0U);
  EXPECT_EQ(capacity(ppo(0, 0, 13), hand(0, 13)), 3U);
}

TEST(Capacity, MembersOfAGroupGivenUpReturnTheirPlaces) {
  auto mine = hand(0, 16);
  mine.orphans = 1;
  EXPECT_EQ(capacity(ppo(0, 0, 16), mine), 1U);
}

TEST(Capacity, AMemberOfAGroupThatTheLearnerCancelledTooReturnsItsPlaceOnce) {
  const std::string uid = "abcdef0123456789";
  Dispatcher dispatcher({.run_uid = uid});
  TimePoint now{std::chrono::hours(1)};
  dispatcher.learner_accepted({make_rollout_id(uid, {Stage::agentic, 0, 0})});
  auto status = ppo(0, 0, 1);
  status.next_group = 1;
  dispatcher.learner_status(status);
  dispatcher.worker_joined("w", 1, now);
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
    const auto start = dispatcher.next(now);
    ASSERT_TRUE(start);
    ASSERT_EQ(start->attempt.rollout_id, make_rollout_id(uid, {Stage::agentic, 0, 1}));
    dispatcher.claimed(start->attempt, "w", "sandbox");
    dispatcher.sent(start->attempt, now);
    dispatcher.worker_ended("w", {start->attempt, false, "sandbox_lost", false}, now);
  }
  EXPECT_EQ(dispatcher.in_hand().orphans, 1U);
  status.ready = 0;  // of what it cancelled it counts nothing as ready
  status.cancel_groups = {0};
  dispatcher.learner_status(status);
  EXPECT_EQ(dispatcher.in_hand().orphans, 0U);
}

TEST(Capacity, NeverMoreThanTheConcurrencyAtOnce) {
  EXPECT_EQ(capacity(ppo(0, 0, 0), hand(3, 0, 4)), 1U);
  EXPECT_EQ(capacity(ppo(0, 0, 0), hand(4, 0, 4)), 0U);
}

TEST(Capacity, CollectAndEvaluationStopAtTheirTarget) {
  LearnerStatus status;
  status.stage = Stage::collect;
  status.target = 64;
  status.accepted = 60;
  EXPECT_EQ(capacity(status, hand(3, 60)), 1U);
  EXPECT_EQ(capacity(status, hand(3, 61)), 0U);  // one is delivered and not in the status yet
  status.stage = Stage::eval2;
  EXPECT_EQ(capacity(status, hand(4, 60)), 0U);
}

TEST(Capacity, RftAndCriticStartNothing) {
  LearnerStatus status;
  status.target = 64;
  status.batch = 16;
  for (const auto stage : {Stage::none, Stage::rft, Stage::critic, Stage::done}) {
    status.stage = stage;
    EXPECT_EQ(capacity(status, hand(0, 0)), 0U) << stage_name(stage);
    EXPECT_EQ(rollouts_left(status, hand(0, 0)), 0U) << stage_name(stage);
  }
}

TEST(Capacity, WhatIsLeftOfAStageIsWhatHasNotBeenAccepted) {
  EXPECT_EQ(rollouts_left(ppo(0, 0, 0), hand(0, 0)), 128U);
  EXPECT_EQ(rollouts_left(ppo(7, 7 * 16, 10), hand(2, 7 * 16 + 10)), 6U);
}

}  // namespace
}  // namespace swage::controller
