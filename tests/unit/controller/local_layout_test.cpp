#include "controller/adapters/local_layout.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "common/base/digest.hpp"
#include "controller/adapters/run_file.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::controller {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;

const std::string kText = R"(apiVersion: swage.dev/v1alpha1
kind: TrainingRun
metadata: {name: small}
spec:
  preset: OneMachine
  deviceKind: cpu
  model: {source: "scratch:tiny"}
  tasks: [{set: builtin-cpu}]
  learning: {actorLearningRate: 0}
)";

class LocalLayoutTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto file = parse_run_file(kText, "f");
    ASSERT_TRUE(file);
    file_ = std::move(*file);
    auto out = OutDirectory::open(directory_.path() / "run", file_.run, kText, false);
    ASSERT_TRUE(out);
    out_ = std::move(*out);
    installed_.bin = "/opt/swage/bin";
    installed_.share = "/opt/swage/share/swage";
    installed_.redis_server = "/usr/bin/redis-server";
    installed_.cores = 2;
    layout_ = std::make_unique<LocalLayout>(*out_, file_, installed_, 16);
    ASSERT_TRUE(layout_->prepare(*out_));
  }
  void TearDown() override { layout_->clean_up(); }
  nlohmann::json config(const std::string& name, Component component) {
    return nlohmann::json::parse(layout_->pod_config(name, component));
  }
  fs::path sockets() const { return "/tmp/swage-" + out_->run_uid().substr(0, 8); }

  test::TempDirectory directory_;
  RunFile file_;
  std::unique_ptr<OutDirectory> out_;
  Installation installed_;
  std::unique_ptr<LocalLayout> layout_;
};

TEST_F(LocalLayoutTest, SocketsLieInADirectoryThatOnlyItsOwnerEntersAndThatIsRemoved) {
  struct stat info{};
  ASSERT_EQ(::stat(sockets().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  EXPECT_EQ(layout_->learner_address(), "unix:" + (sockets() / "small-learner-0.sock").string());
  layout_->clean_up();
  EXPECT_FALSE(fs::exists(sockets()));
}

TEST_F(LocalLayoutTest, ADirectoryThatAKilledControllerLeftIsReplaced) {
  ASSERT_TRUE(write_file_durably(sockets() / "stale.sock", ""));
  ASSERT_TRUE(layout_->prepare(*out_));
  EXPECT_FALSE(fs::exists(sockets() / "stale.sock"));
}

TEST_F(LocalLayoutTest, TheLearnerGetsTheUsersNumbersAndThePresetsForTheRest) {
  const auto value = config("small-learner-0", Component::learner);
  EXPECT_EQ(value["learning"]["actorLearningRate"], 0.0);
  EXPECT_EQ(value["learning"]["batch"], 16);
  EXPECT_EQ(value["evaluation_rollouts"], 16);
  EXPECT_EQ(value["run_uid"], out_->run_uid());
  EXPECT_EQ(value["model"]["tokenizer"], "/opt/swage/share/swage/tiny/tokenizer.json");
}

TEST_F(LocalLayoutTest, TheGpuWorkerBelongsToThePoolNotToTheRun) {
  const auto value = config("default-gpu-0", Component::gpu_worker);
  EXPECT_FALSE(value.contains("run_uid"));
  EXPECT_EQ(value["pool"], "default.default");
}

TEST_F(LocalLayoutTest, OnlyTheHashOfASandboxTokenStandsInItsConfiguration) {
  const auto text = layout_->sandbox_config("sbx-small-1", "uid", "the token", 20001);
  EXPECT_THAT(text, HasSubstr(sha256_hex("the token")));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("the token")));
}

TEST_F(LocalLayoutTest, RedisListensOnASocketWithAPasswordAndKeepsNothing) {
  const auto text = layout_->pod_config(layout_->redis_pod(), Component::redis);
  EXPECT_THAT(text, HasSubstr("port 0\n"));
  EXPECT_THAT(text, HasSubstr("requirepass " + read_file(layout_->redis_password_file()).value()));
  EXPECT_THAT(text, HasSubstr("save \"\"\nappendonly no\nmaxmemory-policy noeviction\n"));
}

TEST_F(LocalLayoutTest, UnderFourCoresSmallProcessesLeaveTheOtherCoresToTheLearnerAndTheJudge) {
  const auto cores = layout_->backend_settings().cores;
  EXPECT_EQ(cores.at(Component::sandbox), std::vector<int>{0});
  EXPECT_EQ(cores.count(Component::learner), 0U);
  EXPECT_EQ(cores.count(Component::gpu_worker), 0U);
  installed_.cores = 4;
  EXPECT_TRUE(LocalLayout(*out_, file_, installed_, 16).backend_settings().cores.empty());
}

TEST(Installation, EachMissingPartIsNamedWithItsRemedy) {
  test::TempDirectory empty;
  const auto found = find_installation(empty.path(), empty.path().string(), empty.path());
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error(), Contains(HasSubstr("apt-get install redis-server")));
  EXPECT_THAT(found.error(), Contains(HasSubstr("apt-get install bubblewrap")));
  EXPECT_THAT(found.error(), Contains(HasSubstr("make setup")));
  EXPECT_THAT(found.error(), Contains(HasSubstr("swage-learner is missing; build swage")));
}

}  // namespace
}  // namespace swage::controller
