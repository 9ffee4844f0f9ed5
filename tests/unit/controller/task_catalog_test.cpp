#include "controller/adapters/task_catalog.hpp"

#include <gmock/gmock.h>

#include "common/base/files.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::controller {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kTask = R"(import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x
def get_inputs():
    return [torch.rand(4)]
def get_init_inputs():
    return []
)";

class TaskCatalogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    run_.learning = learner::preset_settings(learner::Preset::one_machine);
    run_.device_kind = DeviceKind::cpu;
    run_.tasks = {{"builtin-cpu", 1}};
    put("builtin-cpu/add/model.py", kTask);
    put("builtin-cpu/norm/model.py", kTask + "# another\n");
    put("builtin-cpu/index.json",
        R"([{"id": "add", "level": 1, "ops": ["add"], "tags": ["x"], "deck": 8, "quickstart": true},
            {"id": "norm", "level": 2, "ops": [], "tags": [], "deck": 8, "quickstart": false}])");
  }
  void put(const std::string& name, const std::string& content) {
    fs::create_directories((directory_.path() / name).parent_path());
    ASSERT_TRUE(write_file_durably(directory_.path() / name, content));
  }
  auto load() { return load_tasks(run_, directory_.path()); }
  std::string complaint() {
    const auto loaded = load();
    return loaded ? "(loaded)" : loaded.error().text();
  }

  test::TempDirectory directory_;
  TrainingRun run_;
};

TEST_F(TaskCatalogTest, OneMachineDealsTheQuickstartTasksAndAClusterAll) {
  const auto small = load();
  ASSERT_TRUE(small) << small.error().text();
  ASSERT_EQ(small->tasks.size(), 1U);
  EXPECT_EQ(small->tasks[0].id, "add");
  EXPECT_EQ(small->tasks[0].deck, 8U);
  EXPECT_EQ(small->tasks[0].digest.size(), 64U);
  run_.learning.preset = learner::Preset::cluster;
  EXPECT_EQ(load()->tasks.size(), 2U);
}

TEST_F(TaskCatalogTest, AFolderOfOwnTasksIsASetOfItsOwn) {
  run_.learning.stages.collect.actor = learner::CollectActor::policy;
  put("own/first.py", kTask);
  put("own/Second Task.py", kTask);
  run_.tasks.push_back({(directory_.path() / "own").string(), 2});
  const auto loaded = load();
  ASSERT_TRUE(loaded) << loaded.error().text();
  ASSERT_EQ(loaded->shares.size(), 2U);
  EXPECT_THAT(loaded->shares[1].tasks, ElementsAre(1U, 2U));
  EXPECT_EQ(loaded->shares[1].weight, 2);
  EXPECT_EQ(loaded->tasks[1].id, "second_task");
}

TEST_F(TaskCatalogTest, AFileWithoutModelIsNamedWithTheRemedy) {
  put("own/bad.py", "def get_inputs(): pass\ndef get_init_inputs(): pass\n");
  run_.tasks = {{(directory_.path() / "own/bad.py").string(), 1}};
  EXPECT_THAT(complaint(), HasSubstr("own/bad.py: has no `class Model`"));
  EXPECT_THAT(complaint(), HasSubstr("swage tasks check"));
}

TEST_F(TaskCatalogTest, ATeacherNeedsADeckForEveryTask) {
  put("own/first.py", kTask);
  run_.tasks = {{(directory_.path() / "own").string(), 1}};
  EXPECT_THAT(complaint(), HasSubstr("task first has no scripted teacher"));
}

TEST_F(TaskCatalogTest, AMissingPathAnEmptyFolderAndARepeatedIdAreRefused) {
  run_.learning.stages.collect.actor = learner::CollectActor::policy;
  run_.tasks = {{"/nowhere/at/all", 1}};
  EXPECT_THAT(complaint(), HasSubstr("/nowhere/at/all: is neither a file nor a folder"));
  fs::create_directories(directory_.path() / "empty");
  run_.tasks = {{(directory_.path() / "empty").string(), 1}};
  EXPECT_THAT(complaint(), HasSubstr("holds no .py file"));
  put("own/a/add.py", kTask);
  run_.tasks = {{"builtin-cpu", 1}, {(directory_.path() / "own").string(), 1}};
  EXPECT_THAT(complaint(), HasSubstr("has the id `add` of another task"));
}

TEST_F(TaskCatalogTest, WithoutTheInstalledTasksTheRemedyIsABuild) {
  run_.tasks = {{"builtin-cuda", 1}};
  EXPECT_THAT(complaint(), HasSubstr("build swage again"));
}

}  // namespace
}  // namespace swage::controller
