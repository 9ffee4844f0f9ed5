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
  ASSERT_TRUE(world.start()) << world.log();
  world.feed_until(v1::STAGE_DONE);
  const auto& status = world.control->status;
  ASSERT_EQ(status.stage(), v1::STAGE_DONE) << world.log();
  EXPECT_TRUE(status.has_reward_after_rft());
  EXPECT_TRUE(status.has_reward_final());
  EXPECT_EQ(status.trajectories(), 8U + 2 + 3 * 4 + 2);
  // Initial weights, after RFT, after each of three PPO steps.
  EXPECT_EQ(status.weight_version(), 5U);
  ASSERT_TRUE(world.until([&] { return world.weights->version == 5; }));
  EXPECT_THAT(world.list(), SizeIs(24));
  EXPECT_EQ(world.get("aaaabbbb-collect-0-0").rollout_id(), "aaaabbbb-collect-0-0");
  const auto out = world.directory.path() / "out";
  for (const char* name : {"collect-0", "evaluation1-0", "agentic-3", "evaluation2-0", "done-0"})
    EXPECT_TRUE(std::filesystem::exists(out / "checkpoints" / name / "MANIFEST.json")) << name;
  const auto csv = read_file(out / "steps.csv");
  ASSERT_TRUE(csv);
  EXPECT_THAT(*csv, HasSubstr("agentic,3,"));
  EXPECT_EQ(world.terminate(), 0) << world.log();
}

}  // namespace
}  // namespace swage::test
