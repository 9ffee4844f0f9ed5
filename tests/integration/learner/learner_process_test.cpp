#include <gmock/gmock.h>

#include <fstream>

#include "common/base/files.hpp"
#include "tests/integration/learner/world.hpp"

namespace swage::test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(LearnerProcess, WalksThroughAllStagesAndLeavesWhatARunLeaves) {
  World world;
  // Two steps: three with probabilities that no engine computed would pause it (see below).
  const auto steps = nlohmann::json::parse(R"({"stages": {"agentic": {"steps": 2}}})");
  ASSERT_TRUE(world.start(steps)) << world.log();
  world.feed_until(v1::STAGE_DONE);
  const auto& status = world.control->status;
  ASSERT_EQ(status.stage(), v1::STAGE_DONE) << world.log();
  EXPECT_TRUE(status.has_reward_after_rft());
  EXPECT_TRUE(status.has_reward_final());
  EXPECT_EQ(status.trajectories(), 8U + 2 + 2 * 4 + 2);
  // Initial weights, after RFT, after each of two PPO steps.
  EXPECT_EQ(status.weight_version(), 4U);
  ASSERT_TRUE(world.until([&] { return world.weights->version == 4; }));
  EXPECT_THAT(world.list(), SizeIs(20));
  EXPECT_EQ(world.get("aaaabbbb-collect-0-0").rollout_id(), "aaaabbbb-collect-0-0");
  EXPECT_EQ(world.terminate(), 0) << world.log();
  const auto out = world.directory.path() / "out";
  for (const char* name : {"collect-0", "evaluation1-0", "agentic-2", "evaluation2-0", "done-0"})
    EXPECT_TRUE(std::filesystem::exists(out / "checkpoints" / name / "MANIFEST.json")) << name;
  const auto csv = read_file(out / "steps.csv");
  ASSERT_TRUE(csv);
  EXPECT_THAT(*csv, HasSubstr("agentic,2,"));
}

TEST(LearnerProcess, PausesWhereTheSampledProbabilitiesAreNotItsOwnAndGoesOnWhenTold) {
  World world;
  ASSERT_TRUE(world.start()) << world.log();
  world.feed_until(v1::STAGE_AGENTIC);
  const auto& status = world.control->status;
  while (!status.has_pause() && status.stage() != v1::STAGE_DONE && !HasFailure()) world.feed_one();
  ASSERT_TRUE(status.has_pause()) << status.ShortDebugString();
  EXPECT_EQ(status.pause().reason(), "BehaviourMismatch");
  EXPECT_EQ(status.step(), 3U);
  v1::ControllerCommand other;
  other.mutable_resume()->set_pause_id("another pause");
  world.control->to_send.push(std::move(other));
  v1::ControllerCommand resume;
  resume.mutable_resume()->set_pause_id(status.pause().id());
  world.control->to_send.push(std::move(resume));
  ASSERT_TRUE(world.until([&] { return !status.has_pause(); }));
  world.feed_until(v1::STAGE_DONE);
  EXPECT_EQ(status.stage(), v1::STAGE_DONE) << world.log();
  EXPECT_EQ(world.terminate(), 0) << world.log();
}

}  // namespace
}  // namespace swage::test
