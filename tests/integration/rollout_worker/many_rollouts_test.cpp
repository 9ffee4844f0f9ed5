#include <gmock/gmock.h>

#include "tests/integration/rollout_worker/world.hpp"

namespace swage::rollout_worker::test {
namespace {

TEST(ManyRollouts, SeventyTwoRunAtOnceInOneProcessAndEachIsDeliveredOnce) {
  constexpr std::size_t kRollouts = 72;
  World world;
  world.policy.stuck = true;  // holds all of them in their first message
  for (std::size_t i = 0; i < kRollouts; ++i)
    world.dispatch(world.assignment("abcd1234-agentic-0-" + std::to_string(i)));
  ASSERT_TRUE(world.run.wait_until([&] { return world.policy.most_at_once == kRollouts; }));
  EXPECT_EQ(world.pool.size(), kRollouts);
  EXPECT_EQ(world.sandboxes.most_sessions, kRollouts);
  EXPECT_THAT(world.registry.text(), testing::HasSubstr("swage_rollout_active 72"));

  // The server dies with all streams and comes back without sessions: nobody is lost.
  world.run(world.policy.kill());
  world.policy.stuck = false;
  world.policy.forget();
  world.policy.start();
  ASSERT_TRUE(world.run.wait_until([&] { return world.controller.dones.size() == kRollouts; },
                                   std::chrono::seconds(40)));
  EXPECT_EQ(world.learner.log.size(), kRollouts);
  EXPECT_EQ(world.learner.duplicates, 0U);
  EXPECT_EQ(world.gpu.evaluations, kRollouts);  // the profile's score stands
  for (const auto& done : world.controller.dones) {
    EXPECT_TRUE(done.delivered());
    EXPECT_EQ(done.reward(), 3.0);
    EXPECT_EQ(done.stop_reason(), v1::STOP_REASON_NO_TOOL_CALL);
  }
  EXPECT_EQ(world.pool.size(), 0U);
}

TEST(ManyRollouts, OneMoreThanTheCapacityIsRefusedByName) {
  World world(2);
  world.policy.stuck = true;
  for (const char* id : {"a", "b", "c"}) world.dispatch(world.assignment(id));
  const auto* refused = world.wait_for("c");
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->infrastructure_cause(), "worker_full");
  EXPECT_EQ(world.pool.size(), 2U);
}

TEST(ManyRollouts, ATrajectoryOnTheWireIsWhatWasSampled) {
  World world;
  world.dispatch(world.assignment("abcd1234-agentic-3-1"));
  ASSERT_NE(world.wait_for("abcd1234-agentic-3-1"), nullptr);
  const auto& record = world.learner.log.at("abcd1234-agentic-3-1");
  std::vector<std::uint32_t> sampled;
  ASSERT_EQ(record.loss_mask().size(), static_cast<std::size_t>(record.token_ids_size()));
  for (int i = 0; i < record.token_ids_size(); ++i)
    if (record.loss_mask()[static_cast<std::size_t>(i)] == 1)
      sampled.push_back(record.token_ids(i));
  std::vector<std::uint32_t> said;
  for (const auto& line : world.policy.script)
    for (const auto id : world.renderer.message(line)) said.push_back(id);
  EXPECT_EQ(sampled, said);
  EXPECT_EQ(record.turns_size(), 3);
  EXPECT_EQ(record.verdicts_size(), 1);
  EXPECT_EQ(record.final_verdict(), 0U);
  EXPECT_EQ(record.tokenizer_digest(), world.renderer.tokenizer_digest());
  EXPECT_EQ(record.rewards(0).position(), static_cast<std::uint32_t>(record.token_ids_size() - 1));
  EXPECT_EQ(world.leases.asks.at(0).cls, lease::RequestClass::score);
}

TEST(ManyRollouts, ACancelledRolloutEndsAloneAndItsPlaceIsFree) {
  World world;
  world.policy.stuck = true;
  world.dispatch(world.assignment("a"));
  ASSERT_TRUE(world.run.wait_until([&] { return world.policy.most_at_once == 1; }));
  v1::DispatcherMessage cancel;
  *cancel.mutable_cancel()->mutable_rollout() = world.assignment("a").rollout();
  cancel.mutable_cancel()->set_epoch(5);
  world.controller.send(std::move(cancel));
  const auto* done = world.wait_for("a");
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->stop_reason(), v1::STOP_REASON_CANCELLED);
  world.dispatch(world.assignment("b"));
  ASSERT_TRUE(world.run.wait_until([&] { return world.pool.size() == 1; }));
}

TEST(ManyRollouts, DrainingCutsOffWhatDoesNotEndInTimeAndTakesNoMore) {
  World world;
  world.policy.stuck = true;
  world.dispatch(world.assignment("a"));
  ASSERT_TRUE(world.run.wait_until([&] { return world.policy.most_at_once == 1; }));
  world.drain(world.clock->now() + std::chrono::milliseconds(100));
  EXPECT_EQ(world.pool.size(), 0U);
  const auto* done = world.wait_for("a");
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->infrastructure_cause(), "worker_drained");
  EXPECT_FALSE(done->has_reward());
  EXPECT_EQ(world.learner.log.size(), 0U);
  world.dispatch(world.assignment("late"));
  const auto* refused = world.wait_for("late");
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->infrastructure_cause(), "worker_full");
}

TEST(ManyRollouts, DrainingLetsARolloutEndThatEndsInTime) {
  World world;
  world.dispatch(world.assignment("abcd1234-agentic-0-1"));
  ASSERT_TRUE(world.run.wait_until([&] { return world.pool.size() == 1; }));
  world.drain(world.clock->now() + std::chrono::seconds(60));
  const auto* done = world.wait_for("abcd1234-agentic-0-1");
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->infrastructure_cause(), "");
  EXPECT_EQ(done->reward(), 3.0);
  EXPECT_TRUE(done->delivered());
}

}  // namespace
}  // namespace swage::rollout_worker::test
