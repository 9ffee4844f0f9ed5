#include <gmock/gmock.h>

#include "tests/integration/rollout_worker/world.hpp"

namespace swage::rollout_worker::test {
namespace {

using std::chrono::seconds;

TEST(Faults, AKilledSandboxIsInfrastructureAndTheNextAttemptCounts) {
  World world;
  world.sandboxes.die_at_tool = {"a"};
  world.dispatch(world.assignment("a"));
  const auto* lost = world.wait_for("a");
  ASSERT_NE(lost, nullptr);
  EXPECT_EQ(lost->stop_reason(), v1::STOP_REASON_INFRASTRUCTURE);
  EXPECT_EQ(lost->infrastructure_cause(), "sandbox_lost");
  EXPECT_FALSE(lost->delivered());
  EXPECT_FALSE(lost->has_reward());
  ASSERT_EQ(world.learner.diagnosis.size(), 1U);
  EXPECT_EQ(world.learner.diagnosis[0].rewards_size(), 0);

  world.sandboxes.die_at_tool.clear();
  world.dispatch(world.assignment("a", 2));
  const auto* done = world.wait_for("a", 2);
  ASSERT_NE(done, nullptr);
  EXPECT_TRUE(done->delivered());
  EXPECT_EQ(world.learner.log.at("a").attempt(), 2U);
}

TEST(Faults, AnotherPodAtTheAddressIsNotUsed) {
  World world;
  auto assignment = world.assignment("a");
  assignment.mutable_sandbox()->set_uid("pod-of-somebody-else");
  world.dispatch(assignment);
  const auto* done = world.wait_for("a");
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->infrastructure_cause(), "sandbox_wrong_pod");
  EXPECT_EQ(world.sandboxes.most_sessions, 0U);
}

TEST(Faults, APolicyThatStaysAwayCostsTheRolloutAtItsDeadlineWithoutAScore) {
  World world;
  world.policy.stuck = true;
  auto assignment = world.assignment("a");
  assignment.mutable_limits()->set_wall_clock_seconds(2);
  world.dispatch(assignment);
  ASSERT_TRUE(world.run.wait_until([&] { return world.policy.most_at_once == 1; }));
  world.run(world.policy.kill());
  const auto* done = world.wait_for("a");
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->stop_reason(), v1::STOP_REASON_INFRASTRUCTURE);
  EXPECT_EQ(done->infrastructure_cause(), "policy_lost");
  EXPECT_EQ(world.gpu.evaluations, 0U);
  EXPECT_TRUE(world.learner.log.empty());
}

TEST(Faults, ATrajectoryTooLargeToSendIsRefusedAndHoldsNobodyUp) {
  World world;
  StopSource stop;
  const auto deliver = [&](const std::string& id, std::size_t tokens) {
    Trajectory sent;
    sent.key = {RolloutId{id}, 1};
    sent.token_ids.assign(tokens, 7);
    sent.loss_mask.assign(tokens, 1);
    sent.behaviour_logprobs.assign(tokens, -1.0F);
    return world.run.start(
        world.sink->deliver(std::make_shared<const Trajectory>(std::move(sent)), stop));
  };
  const auto large = deliver("large", 3U << 20);
  const auto small = deliver("small", 10);
  EXPECT_TRUE(world.run.wait_until([&] { return large->ended && small->ended; }));
  if (large->ended) {
    EXPECT_EQ(large->value()->answer, SubmitAnswer::rejected);
    EXPECT_EQ(large->value()->reason, "too_large");
  }
  if (small->ended) EXPECT_EQ(small->value()->answer, SubmitAnswer::accepted);
  EXPECT_EQ(world.sink->waiting(), 0U);
  stop.request(StopReason::requested);
  world.run.wait_until([&] { return large->ended && small->ended; });
}

TEST(Faults, APolicyThatIsSlowIsCutByTheWallClockAndScored) {
  World world;
  world.policy.stuck = true;
  auto assignment = world.assignment("a");
  assignment.mutable_limits()->set_wall_clock_seconds(1);
  world.dispatch(assignment);
  const auto* done = world.wait_for("a");
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->stop_reason(), v1::STOP_REASON_WALL_CLOCK);
  EXPECT_TRUE(done->delivered());
  EXPECT_EQ(done->reward(), 3.0);
}

TEST(Faults, AForgottenSessionIsSentAgainAndTheTokensAreTheSame) {
  World world;
  world.policy.script = {kReadCall, kReadCall, kProfileCall, "Done."};
  world.dispatch(world.assignment("a"));
  ASSERT_TRUE(world.run.wait_until([&] { return world.policy.generated == 2; }));
  world.policy.forget();
  ASSERT_NE(world.wait_for("a"), nullptr);
  EXPECT_GE(world.policy.misses, 1U);
  EXPECT_EQ(world.learner.log.at("a").turns_size(), 4);
  EXPECT_EQ(world.learner.log.at("a").stop_reason(), v1::STOP_REASON_NO_TOOL_CALL);
}

TEST(Faults, AnotherServerTakesOver) {
  World world;
  FakePolicy other(world.run.executor(), world.policy.address() + "-2");
  other.script = world.policy.script;
  other.weight_version = 1;
  other.start();
  world.policy.stuck = true;
  world.dispatch(world.assignment("a"));
  ASSERT_TRUE(world.run.wait_until([&] { return world.policy.most_at_once == 1; }));
  v1::DispatcherMessage both;
  both.mutable_policy_set()->add_servers()->set_address(world.policy.address());
  both.mutable_policy_set()->add_servers()->set_address(other.address());
  world.controller.send(std::move(both));
  ASSERT_TRUE(world.run.wait_until([&] { return world.controller.connections == 1; }));
  world.run(world.policy.kill());
  const auto* done = world.wait_for("a");
  ASSERT_NE(done, nullptr);
  EXPECT_TRUE(done->delivered());
  EXPECT_EQ(other.generated, 3U);
  world.run(other.kill());
}

TEST(Faults, AKilledGpuWorkerCostsALeaseNotTheRollout) {
  World world;
  world.gpu.break_off = 1;
  world.gpu.refuse = 1;
  world.dispatch(world.assignment("a"));
  const auto* done = world.wait_for("a");
  ASSERT_NE(done, nullptr);
  EXPECT_TRUE(done->delivered());
  EXPECT_THAT(world.gpu.requests, testing::ElementsAre("a.1.1", "a.1.1.2", "a.1.1.3"));
  EXPECT_THAT(world.leases.releases,
              testing::ElementsAre(lease::ReleaseAs::unsure, lease::ReleaseAs::clear,
                                   lease::ReleaseAs::clear));
  EXPECT_EQ(world.learner.log.at("a").verdicts_size(), 1);
  const auto metrics = world.registry.text();
  EXPECT_THAT(metrics, testing::HasSubstr("swage_pool_lease_hold_seconds_count 3"));
  EXPECT_THAT(metrics, testing::HasSubstr(R"(lease_wait_seconds_count{class="score"} 3)"));
}

TEST(Faults, APoolThatNeverAnswersIsInfrastructure) {
  World world;
  world.gpu.break_off = 1000;
  world.dispatch(world.assignment("a"));
  const auto* done = world.wait_for("a");
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->infrastructure_cause(), "pool_lost");
  EXPECT_FALSE(done->delivered());
  EXPECT_EQ(world.gpu.evaluations, static_cast<std::size_t>(LeasedEvaluator::kTries));
}

TEST(Faults, UndeliveredWorkWaitsForTheLearnersRestartAndIsKeptOnce) {
  World world;
  world.run(world.learner.kill());
  for (const char* id : {"a", "b", "c"}) world.dispatch(world.assignment(id));
  ASSERT_TRUE(world.run.wait_until([&] { return world.sink->waiting() == 3; }));
  EXPECT_TRUE(world.controller.dones.empty());
  world.learner.swallow = 1;  // logs the first, and dies again before it answers
  world.learner.start();
  ASSERT_TRUE(world.run.wait_until([&] { return world.controller.dones.size() == 3; }));
  EXPECT_EQ(world.learner.log.size(), 3U);
  EXPECT_EQ(world.learner.duplicates, 1U);
  for (const auto& done : world.controller.dones) EXPECT_TRUE(done.delivered());
}

TEST(Faults, ALearnerThatAsksForPatienceGetsItAgain) {
  World world;
  world.learner.retry = 2;
  world.dispatch(world.assignment("a"));
  const auto* done = world.wait_for("a");
  ASSERT_NE(done, nullptr);
  EXPECT_TRUE(done->delivered());
  EXPECT_EQ(world.learner.duplicates, 0U);
}

TEST(Faults, TheDispatcherHearsAfterItsRestartWhatIsInHandAndWhatEnded) {
  World world;
  world.policy.stuck = true;
  world.dispatch(world.assignment("a"));
  ASSERT_TRUE(world.run.wait_until([&] { return world.policy.most_at_once == 1; }));
  world.run(world.controller.kill());
  world.controller.reports.clear();
  world.controller.start();
  ASSERT_TRUE(world.run.wait_until([&] { return !world.controller.reports.empty(); }));
  EXPECT_EQ(world.controller.hellos.back().epoch_seen(), 5U);
  EXPECT_EQ(world.controller.hellos.back().capacity(), 128U);
  EXPECT_EQ(world.controller.reports[0].rollout().rollout_id(), "a");
  EXPECT_EQ(world.controller.reports[0].sandbox_uid(), "pod-a");

  // Ends while nobody listens.
  world.run(world.controller.kill());
  world.run(world.policy.kill());
  world.policy.stuck = false;
  world.policy.start();
  ASSERT_TRUE(world.run.wait_until([&] { return world.learner.log.size() == 1; }));
  world.controller.start();
  const auto* done = world.wait_for("a");
  ASSERT_NE(done, nullptr);
  EXPECT_TRUE(done->delivered());
}

TEST(Faults, AnOldLeaderIsRefused) {
  World world;
  world.dispatch(world.assignment("a"));
  ASSERT_NE(world.wait_for("a"), nullptr);
  auto stale = world.assignment("b");
  stale.set_epoch(4);
  world.dispatch(stale);
  const auto* refused = world.wait_for("b");
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->infrastructure_cause(), "stale_epoch");
  auto newer = world.assignment("c");
  newer.set_epoch(6);
  world.dispatch(newer);
  const auto* done = world.wait_for("c");
  ASSERT_NE(done, nullptr);
  EXPECT_TRUE(done->delivered());
}

TEST(Faults, AnAssignmentWithoutATaskIsRefusedByField) {
  World world;
  auto bad = world.assignment("a");
  bad.clear_task();
  world.dispatch(bad);
  const auto* refused = world.wait_for("a");
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->infrastructure_cause(), "bad_assignment:task");
}

}  // namespace
}  // namespace swage::rollout_worker::test
