#include "controller/core/dispatcher.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const std::string kUid = "abcdef0123456789";

DispatchSettings settings(std::uint64_t max_running = 4) {
  DispatchSettings out;
  out.run_uid = kUid;
  out.max_running = max_running;
  out.max_attempts = 3;
  return out;
}

LearnerStatus collect(std::uint64_t target, std::uint64_t accepted = 0) {
  LearnerStatus status;
  status.stage = Stage::collect;
  status.target = target;
  status.accepted = accepted;
  return status;
}

LearnerStatus agentic(std::uint64_t step, std::uint64_t consumed, std::uint64_t ready) {
  LearnerStatus status;
  status.stage = Stage::agentic;
  status.step = step;
  status.steps_total = 8;
  status.batch = 4;
  status.group_size = 2;
  status.consumed = consumed;
  status.ready = ready;
  status.accepted = consumed + ready;
  return status;
}

std::string id(Stage stage, std::uint64_t group, std::uint32_t member = 0) {
  return make_rollout_id(kUid, {stage, group, member});
}

/// Drives a Dispatcher as the controller does: every start gets a sandbox and is sent.
class DispatcherTest : public ::testing::Test {
 protected:
  void attach(const LearnerStatus& status, std::vector<std::string> accepted = {}) {
    dispatcher_.learner_accepted(accepted);
    dispatcher_.learner_status(status);
  }
  std::vector<std::string> start_all() {
    std::vector<std::string> out;
    while (const auto start = dispatcher_.next(now_)) {
      dispatcher_.claimed(start->attempt, start->worker, "sandbox-" + std::to_string(++sandboxes_));
      dispatcher_.sent(start->attempt, now_);
      out.push_back(start->attempt.rollout_id + "/" + std::to_string(start->attempt.number));
    }
    return out;
  }
  bool deliver(const std::string& rollout, const std::string& worker = "w1",
               std::uint32_t attempt = 1) {
    return dispatcher_.worker_ended(worker, {{rollout, attempt}, true, "", false}, now_);
  }
  void fail(const std::string& rollout, std::uint32_t attempt, const std::string& worker = "w1") {
    dispatcher_.worker_ended(worker, {{rollout, attempt}, false, "sandbox_lost", false}, now_);
  }
  template <class Action>
  std::vector<Action> taken() {
    std::vector<Action> out;
    for (const auto& action : dispatcher_.take_actions())
      if (const auto* mine = std::get_if<Action>(&action)) out.push_back(*mine);
    return out;
  }

  TimePoint now_{std::chrono::hours(1)};
  Dispatcher dispatcher_{settings()};
  int sandboxes_ = 0;
};

TEST_F(DispatcherTest, NothingStartsBeforeTheLearnerSaidWhatItHoldsAndAWorkerJoined) {
  dispatcher_.learner_status(collect(8));
  dispatcher_.worker_joined("w1", 4, now_);
  EXPECT_THAT(start_all(), IsEmpty());
  dispatcher_.learner_accepted({});
  EXPECT_EQ(start_all().size(), 4U);
}

TEST_F(DispatcherTest, EachRolloutGoesToTheLeastLoadedWorkerWithRoom) {
  attach(collect(8));
  dispatcher_.worker_joined("w1", 1, now_);
  dispatcher_.worker_joined("w2", 4, now_);
  start_all();
  std::map<std::string, int> loads;
  for (const auto& [rollout, live] : dispatcher_.live()) ++loads[live.worker];
  EXPECT_EQ(loads["w1"], 1);
  EXPECT_EQ(loads["w2"], 3);
}

TEST_F(DispatcherTest, ADeliveredRolloutFreesItsSandboxAndMakesRoomForTheNext) {
  attach(collect(5));
  dispatcher_.worker_joined("w1", 8, now_);
  EXPECT_THAT(start_all(), ElementsAre(id(Stage::collect, 0) + "/1", id(Stage::collect, 1) + "/1",
                                       id(Stage::collect, 2) + "/1", id(Stage::collect, 3) + "/1"));
  deliver(id(Stage::collect, 0));
  EXPECT_THAT(taken<FreeSandbox>(), ElementsAre(FreeSandbox{"sandbox-1"}));
  EXPECT_THAT(start_all(), ElementsAre(id(Stage::collect, 4) + "/1"));
  for (std::uint64_t group = 1; group < 5; ++group) deliver(id(Stage::collect, group));
  EXPECT_THAT(start_all(), IsEmpty());  // though the last status still says accepted = 0
  EXPECT_EQ(dispatcher_.counters().completed, 5U);
}

TEST_F(DispatcherTest, NoRolloutIsAssignedTwiceWhateverIsRepeated) {
  attach(collect(4));
  dispatcher_.worker_joined("w1", 8, now_);
  start_all();
  deliver(id(Stage::collect, 0));
  deliver(id(Stage::collect, 0));  // the worker repeats itself after a reconnection
  attach(collect(4), {id(Stage::collect, 0)});
  EXPECT_THAT(start_all(), IsEmpty());
  EXPECT_EQ(dispatcher_.counters().completed, 1U);
}

TEST_F(DispatcherTest, ALostRolloutIsIssuedAgainAsTheNextAttempt) {
  attach(collect(1));
  dispatcher_.worker_joined("w1", 8, now_);
  start_all();
  fail(id(Stage::collect, 0), 1);
  EXPECT_THAT(taken<FreeSandbox>(), ElementsAre(FreeSandbox{"sandbox-1"}));
  EXPECT_THAT(start_all(), ElementsAre(id(Stage::collect, 0) + "/2"));
  EXPECT_EQ(dispatcher_.counters().infrastructure_failed, 1U);
  EXPECT_EQ(dispatcher_.counters().reissued, 1U);
}

TEST_F(DispatcherTest, TheEndOfAnAttemptThatWasGivenUpForLostCountsIfItWasDelivered) {
  attach(collect(1));
  dispatcher_.worker_joined("w1", 8, now_);
  start_all();
  now_ += 25s;
  dispatcher_.tick(now_);
  dispatcher_.worker_joined("w2", 8, now_);
  EXPECT_THAT(start_all(), ElementsAre(id(Stage::collect, 0) + "/2"));
  dispatcher_.take_actions();
  deliver(id(Stage::collect, 0), "w1", 1);
  EXPECT_THAT(taken<CancelOnWorker>(),
              ElementsAre(CancelOnWorker{"w2", {id(Stage::collect, 0), 2}, "already delivered"}));
  EXPECT_THAT(dispatcher_.live(), IsEmpty());
  EXPECT_THAT(start_all(), IsEmpty());
}

TEST_F(DispatcherTest, AMemberThatFailsThreeTimesReplacesItsGroup) {
  attach(agentic(0, 0, 0));
  dispatcher_.worker_joined("w1", 8, now_);
  EXPECT_EQ(start_all().size(), 4U);
  deliver(id(Stage::agentic, 0, 1));
  dispatcher_.learner_status(agentic(0, 0, 1));
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
    fail(id(Stage::agentic, 0, 0), attempt);
    start_all();
  }
  now_ += 1s;
  start_all();
  EXPECT_THAT(taken<GroupReplaced>(),
              ElementsAre(GroupReplaced{Stage::agentic, 0, "sandbox_lost"}));
  // Group 2 takes its place: the accepted member of group 0 will never be trained.
  std::vector<std::string> live;
  for (const auto& [rollout, unused] : dispatcher_.live()) live.push_back(rollout);
  EXPECT_THAT(live, UnorderedElementsAre(id(Stage::agentic, 1, 0), id(Stage::agentic, 1, 1),
                                         id(Stage::agentic, 2, 0), id(Stage::agentic, 2, 1)));
  EXPECT_EQ(dispatcher_.counters().groups_replaced, 1U);
  EXPECT_EQ(dispatcher_.counters().replaced_in_a_row, 1U);
  deliver(id(Stage::agentic, 1, 0));
  EXPECT_EQ(dispatcher_.counters().replaced_in_a_row, 0U);
}

TEST_F(DispatcherTest, StartsPauseTwiceAsLongEachTimeThatGroupsAreGivenUpUntilOneCompletes) {
  attach(collect(100));
  dispatcher_.worker_joined("w1", 4, now_);
  auto give_up_all = [&] {
    for (const auto& [rollout, live] : std::map(dispatcher_.live()))
      for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
        fail(rollout, attempt);
        start_all();
      }
  };
  auto starts_after = [&](Duration pause) {
    now_ += pause - 1ms;
    const auto early = start_all().size();
    now_ += 1ms;
    return early == 0 && start_all().size() == 4;
  };
  start_all();
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
    give_up_all();
    EXPECT_TRUE(starts_after(pause)) << pause.count();
  }
  deliver(dispatcher_.live().begin()->first);
  EXPECT_EQ(start_all().size(), 1U);
  give_up_all();
  EXPECT_TRUE(starts_after(1s));
}

TEST_F(DispatcherTest, AGroupIsPlannedOnlyWhenAllItsMembersHaveRoom) {
  Dispatcher three(settings(3));
  three.learner_accepted({});
  three.learner_status(agentic(0, 0, 0));
  three.worker_joined("w1", 8, now_);
  ASSERT_TRUE(three.next(now_));
  EXPECT_EQ(three.live().size(), 2U);
}

TEST_F(DispatcherTest, WithStalenessZeroTheNextBatchStartsOnlyAfterTheStep) {
  attach(agentic(0, 0, 0));
  dispatcher_.worker_joined("w1", 8, now_);
  start_all();
  for (std::uint64_t group = 0; group < 2; ++group)
    for (std::uint32_t member = 0; member < 2; ++member) deliver(id(Stage::agentic, group, member));
  EXPECT_THAT(start_all(), IsEmpty());
  dispatcher_.learner_status(agentic(0, 0, 4));
  EXPECT_THAT(start_all(), IsEmpty());
  dispatcher_.learner_status(agentic(1, 4, 0));
  EXPECT_EQ(start_all().front(), id(Stage::agentic, 2, 0) + "/1");
}

TEST_F(DispatcherTest, AResumedRunPlansTheGapsFirstAndNothingThatIsInTheLog) {
  // Group 0 whole, group 1 half, group 3 half; group 2 had been sent and was lost.
  const std::vector<std::string> log{id(Stage::agentic, 0, 0), id(Stage::agentic, 0, 1),
                                     id(Stage::agentic, 1, 1), id(Stage::agentic, 3, 0),
                                     id(Stage::collect, 0)};
  auto status = agentic(0, 0, 4);
  status.batch = 8;
  attach(status, log);
  dispatcher_.worker_joined("w1", 8, now_);
  EXPECT_THAT(start_all(),
              ElementsAre(id(Stage::agentic, 1, 0) + "/1", id(Stage::agentic, 2, 0) + "/1",
                          id(Stage::agentic, 2, 1) + "/1", id(Stage::agentic, 3, 1) + "/1"));
  EXPECT_EQ(dispatcher_.accepted_total(), 5U);
}

TEST_F(DispatcherTest, ASilentWorkersRolloutsAreIssuedAgainAfterTwentySecondsNotBefore) {
  attach(collect(1));
  dispatcher_.worker_joined("w1", 8, now_);
  start_all();
  dispatcher_.worker_reported("w1", {{id(Stage::collect, 0), 1}, "", 1, 10}, now_);
  now_ += 19s;
  dispatcher_.tick(now_);
  EXPECT_EQ(dispatcher_.counters().infrastructure_failed, 0U);
  now_ += 2s;
  dispatcher_.tick(now_);
  EXPECT_EQ(dispatcher_.counters().infrastructure_failed, 1U);
  EXPECT_THAT(start_all(), IsEmpty());  // nobody else, and that worker is not trusted now
  dispatcher_.worker_heard("w1", now_);
  EXPECT_THAT(start_all(), ElementsAre(id(Stage::collect, 0) + "/2"));
}

TEST_F(DispatcherTest, AnIdleWorkersSilenceBeginsWithWhatItIsSentNotWithWhatIsClaimedForIt) {
  dispatcher_.worker_joined("w1", 8, now_);
  now_ += 300s;
  attach(collect(2));
  std::vector<Dispatcher::Start> starts;  // claims take a while: all are made before one is sent
  while (const auto start = dispatcher_.next(now_)) {
    dispatcher_.claimed(start->attempt, start->worker, "sandbox-" + std::to_string(++sandboxes_));
    starts.push_back(*start);
    dispatcher_.tick(now_);
  }
  ASSERT_EQ(starts.size(), 2U);
  for (const auto& start : starts) dispatcher_.sent(start.attempt, now_);
  now_ += 19s;
  dispatcher_.tick(now_);
  EXPECT_EQ(dispatcher_.counters().infrastructure_failed, 0U);
  now_ += 1s;
  dispatcher_.tick(now_);
  EXPECT_EQ(dispatcher_.counters().infrastructure_failed, 2U);
}

TEST_F(DispatcherTest, AWorkerThatReconnectsKeepsWhatItReports) {
  attach(collect(2));
  dispatcher_.worker_joined("w1", 8, now_);
  start_all();
  dispatcher_.worker_left("w1", now_);
  now_ += 5s;
  dispatcher_.worker_joined("w1", 8, now_);
  dispatcher_.worker_reported("w1", {{id(Stage::collect, 0), 1}, "", 2, 50}, now_);
  now_ += 1s;
  dispatcher_.tick(now_);
  EXPECT_EQ(dispatcher_.counters().infrastructure_failed, 0U);
  now_ += 1s;
  dispatcher_.tick(now_);  // it has not named the other one
  EXPECT_THAT(start_all(), ElementsAre(id(Stage::collect, 1) + "/2"));
}

TEST_F(DispatcherTest, AWorkerProcessThatDiedLosesItsRolloutsAtOnce) {
  attach(collect(2));
  dispatcher_.worker_joined("w1", 8, now_);
  start_all();
  dispatcher_.worker_died("w1", now_);
  EXPECT_EQ(taken<FreeSandbox>().size(), 2U);
  EXPECT_THAT(start_all(), IsEmpty());
  dispatcher_.worker_joined("w1", 8, now_);
  EXPECT_THAT(start_all(), ElementsAre(id(Stage::collect, 0) + "/2", id(Stage::collect, 1) + "/2"));
}

TEST_F(DispatcherTest, AReportOfARolloutThatIsNotAssignedIsAnsweredByACancellation) {
  attach(collect(1));
  dispatcher_.worker_joined("w1", 8, now_);
  dispatcher_.worker_reported("w1", {{id(Stage::collect, 7), 1}, "", 0, 0}, now_);
  EXPECT_EQ(taken<CancelOnWorker>().size(), 1U);
}

TEST_F(DispatcherTest, APauseOrSuspensionStartsNothingAndLetsRunningRolloutsEnd) {
  attach(collect(8));
  dispatcher_.worker_joined("w1", 8, now_);
  start_all();
  auto paused = collect(8);
  paused.pause = LearnerPause{"p1", "RewardCollapse", ""};
  dispatcher_.learner_status(paused);
  deliver(id(Stage::collect, 0));
  EXPECT_THAT(start_all(), IsEmpty());
  EXPECT_EQ(dispatcher_.live().size(), 3U);
  dispatcher_.learner_status(collect(8, 1));
  dispatcher_.suspend(true);
  EXPECT_THAT(start_all(), IsEmpty());
  dispatcher_.suspend(false);
  EXPECT_EQ(start_all().size(), 1U);
}

TEST_F(DispatcherTest, AGroupThatTheLearnerCancelsIsTakenFromItsWorker) {
  attach(agentic(0, 0, 0));
  dispatcher_.worker_joined("w1", 8, now_);
  start_all();
  auto status = agentic(0, 0, 0);
  status.cancel_groups = {1};
  dispatcher_.learner_status(status);
  std::vector<Attempt> cancelled;
  for (const auto& action : taken<CancelOnWorker>()) cancelled.push_back(action.attempt);
  EXPECT_THAT(cancelled, UnorderedElementsAre(Attempt{id(Stage::agentic, 1, 0), 1},
                                              Attempt{id(Stage::agentic, 1, 1), 1}));
  EXPECT_THAT(start_all(), Contains(id(Stage::agentic, 2, 0) + "/1"));
}

TEST_F(DispatcherTest, AStageThatEndsTakesItsLateRolloutsWithIt) {
  attach(collect(4));
  dispatcher_.worker_joined("w1", 8, now_);
  start_all();
  LearnerStatus rft;
  rft.stage = Stage::rft;
  dispatcher_.learner_status(rft);
  EXPECT_THAT(dispatcher_.live(), IsEmpty());
  EXPECT_EQ(taken<CancelOnWorker>().size(), 4U);
}

TEST_F(DispatcherTest, TheEndOfARolloutIsNewsOnceAlsoWhenTheNextStageCameBeforeIt) {
  attach(collect(2));
  dispatcher_.worker_joined("w1", 8, now_);
  start_all();
  EXPECT_TRUE(deliver(id(Stage::collect, 0)));
  EXPECT_FALSE(deliver(id(Stage::collect, 0)));
  LearnerStatus rft;
  rft.stage = Stage::rft;
  dispatcher_.learner_status(rft);  // it has the second trajectory: its worker has yet to say so
  EXPECT_TRUE(deliver(id(Stage::collect, 1)));
  EXPECT_FALSE(deliver(id(Stage::collect, 1)));
  EXPECT_EQ(dispatcher_.counters().completed, 2U);
}

TEST_F(DispatcherTest, WhileTheLearnerIsAwayNothingNewStartsAndNothingIsLost) {
  attach(collect(8));
  dispatcher_.worker_joined("w1", 8, now_);
  start_all();
  dispatcher_.learner_gone();
  deliver(id(Stage::collect, 0));
  EXPECT_THAT(start_all(), IsEmpty());
  attach(collect(8, 1), {id(Stage::collect, 0)});
  EXPECT_THAT(start_all(), ElementsAre(id(Stage::collect, 4) + "/1"));
}

TEST_F(DispatcherTest, ARolloutWhoseStreamBrokeBeforeSendingIsNotCountedAsLost) {
  attach(collect(1));
  dispatcher_.worker_joined("w1", 8, now_);
  const auto start = dispatcher_.next(now_);
  ASSERT_TRUE(start);
  dispatcher_.claimed(start->attempt, "w1", "s1");
  dispatcher_.not_sent(start->attempt);
  EXPECT_THAT(taken<FreeSandbox>(), ElementsAre(FreeSandbox{"s1"}));
  EXPECT_EQ(dispatcher_.counters().infrastructure_failed, 0U);
  EXPECT_EQ(dispatcher_.next(now_)->attempt.number, 1U);
}

}  // namespace
}  // namespace swage::controller
