#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "common/asio/process.hpp"
#include "common/base/exit_code.hpp"
#include "common/base/files.hpp"
#include "tests/integration/learner/world.hpp"

namespace swage::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
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

TEST(LearnerProcess, PausesWhereTheSampledProbabilitiesAreNotItsOwnAndPublishesWhenTold) {
  World world;
  ASSERT_TRUE(world.start()) << world.log();
  world.feed_until(v1::STAGE_AGENTIC);
  const auto& status = world.control->status;
  while (!status.has_pause() && status.stage() != v1::STAGE_DONE && !HasFailure()) world.feed_one();
  ASSERT_TRUE(status.has_pause()) << status.ShortDebugString();
  EXPECT_EQ(status.pause().reason(), "BehaviourMismatch");
  EXPECT_EQ(status.step(), 3U);
  // The initial weights, those after RFT and those after two steps; the third step's go nowhere.
  EXPECT_EQ(status.weight_version(), 4U);

  // A checkpoint holds the pause.
  const auto saved = world.directory.path() / "out" / "checkpoints" / "agentic-3";
  ASSERT_TRUE(world.until([&] { return std::filesystem::exists(saved); }));
  const auto pause_id = status.pause().id();
  world.kill();
  ASSERT_FALSE(world.weights->digests.contains(5));
  world.control->status.Clear();
  ASSERT_TRUE(world.start()) << world.log();
  ASSERT_TRUE(world.until([&] { return status.has_pause(); }));
  EXPECT_EQ(status.pause().id(), pause_id);
  EXPECT_EQ(status.pause().reason(), "BehaviourMismatch");
  EXPECT_EQ(status.step(), 3U);
  EXPECT_EQ(status.weight_version(), 4U);
  const auto holds = [](const auto& c) { return c.type() == "BehaviourMismatch" && c.status(); };
  EXPECT_TRUE(std::any_of(status.conditions().begin(), status.conditions().end(), holds));
  EXPECT_EQ(world.weights->version, 4U);
  v1::ControllerCommand other;
  other.mutable_resume()->set_pause_id("another pause");
  world.control->to_send.push(std::move(other));
  v1::ControllerCommand resume;
  resume.mutable_resume()->set_pause_id(pause_id);
  world.control->to_send.push(std::move(resume));
  ASSERT_TRUE(world.until([&] { return !status.has_pause() && world.weights->version == 5; }));
  world.feed_until(v1::STAGE_DONE);
  EXPECT_EQ(status.stage(), v1::STAGE_DONE) << world.log();
  EXPECT_EQ(world.terminate(), 0) << world.log();
}

struct Ended {
  int exit_code = -1;
  std::string printed;
};

/// Runs another swage-learner with these arguments to its end.
Ended run_beside(World& world, std::vector<std::string> arguments) {
  const auto binary =
      std::filesystem::path(environment_or("SWAGE_BIN_DIR", "build/dev/bin")) / "swage-learner";
  arguments.insert(arguments.begin(), binary.string());
  ProcessSpec spec;
  spec.argv = std::move(arguments);
  spec.env = current_environment();
  const auto printed = world.directory.path() / "beside";
  std::filesystem::remove(printed);
  spec.log = printed;
  const auto process = std::move(*Process::start(world.run.executor(), spec));
  const int status = world.run(process->wait(), std::chrono::seconds(60));
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(printed).value_or("")};
}

TEST(LearnerProcess, ASecondOneOnItsDirectoryIsRefusedAndAReaderOfItsLogWritesNothing) {
  World world;
  ASSERT_TRUE(world.start()) << world.log();
  while (world.control->status.accepted() == 0) ASSERT_NO_FATAL_FAILURE(world.feed_one());
  const auto out = world.directory.path() / "out";
  const auto log = out / "learner" / "log";
  const auto logged = [&] {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(log))
      files[entry.path().filename().string()] = read_file(entry.path()).value_or("");
    return files;
  };
  const auto before = logged();
  const auto config = (world.directory.path() / "config.json").string();
  const auto second = run_beside(world, {"--config", config});
  EXPECT_EQ(second.exit_code, exit_code::kFailed);
  EXPECT_THAT(second.printed, HasSubstr("another learner writes the log in " + log.string()));
  EXPECT_EQ(logged(), before);

  const auto tokenizer = (world.directory.path() / "tokenizer.json").string();
  const auto reader = run_beside(world, {"--read-log", out.string(), "--tokenizer", tokenizer});
  EXPECT_EQ(reader.exit_code, 0);
  EXPECT_THAT(reader.printed, HasSubstr("aaaabbbb-collect-0-0"));
  EXPECT_EQ(logged(), before);

  // The kernel lets go of the lock with the process.
  world.kill();
  ASSERT_TRUE(world.start()) << world.log();
  EXPECT_EQ(world.terminate(), 0) << world.log();
}

/// Every file under a directory, by its path.
std::map<std::string, std::string> files_under(const std::filesystem::path& directory) {
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) out[entry.path().string()] = read_file(entry.path()).value_or("");
  return out;
}

TEST(LearnerProcess, RefusesACheckpointOfAnotherModelTokenizerOrRunAndLeavesItAsItWas) {
  World world;
  ASSERT_TRUE(world.start()) << world.log();
  const auto checkpoints = world.directory.path() / "out" / "checkpoints";
  world.feed_until(v1::STAGE_EVALUATION);
  ASSERT_TRUE(world.until([&] { return std::filesystem::exists(checkpoints / "collect-0"); }))
      << world.log();
  EXPECT_EQ(world.terminate(), 0) << world.log();
  const auto before = files_under(checkpoints);
  ASSERT_THAT(before, Not(IsEmpty()));

  const auto refuses = [&](const nlohmann::json& changes, const std::string& why) {
    EXPECT_FALSE(world.start(changes)) << "started on a checkpoint whose " << why;
    EXPECT_EQ(world.exit_code(), exit_code::kMissing);
    EXPECT_THAT(world.log(), HasSubstr("is of another run: its " + why));
    EXPECT_THAT(world.log(), HasSubstr("choose another output directory"));
    EXPECT_EQ(files_under(checkpoints), before);
  };
  // The vocabulary is a part of the model.
  world.change_tokenizer(266, {"read compile verify profile", "slow fast wrong"});
  refuses(nlohmann::json::object(), "model has config digest");
  world.change_tokenizer(272, {"other words make other tokens", "of the same number"});
  refuses(nlohmann::json::object(), "tokenizer has digest");
  world.change_tokenizer(272, {"read compile verify profile", "slow fast wrong"});
  EXPECT_FALSE(world.start({{"run_uid", "eeeeffff00001111"}}));
  EXPECT_EQ(world.exit_code(), exit_code::kMissing);
  EXPECT_THAT(world.log(), HasSubstr("it belongs to run aaaabbbbccccdddd"));
  EXPECT_EQ(files_under(checkpoints), before);

  // With all of them as they were it goes on.
  ASSERT_TRUE(world.start()) << world.log();
  EXPECT_EQ(world.terminate(), 0) << world.log();
}

}  // namespace
}  // namespace swage::test
