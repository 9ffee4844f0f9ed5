#include "cli/app/choose_out.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "common/base/files.hpp"
#include "tests/support/temp_directory.hpp"
#include "tests/unit/cli/live_controller.hpp"

namespace swage::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ChooseOutTest : public ::testing::Test {
 protected:
  fs::path out() const { return folder_.path() / "run"; }
  auto choose(bool again, bool resume = false) const {
    RunOptions options;
    options.file = "short.yaml";
    options.local = true;
    options.again = again;
    options.resume = resume;
    return choose_out(options, Where{"", out(), folder_.path() / "state"});
  }
  void leave_run(const std::string& state, int pid) const {
    fs::create_directories(out());
    const nlohmann::json run{{"run", "short"}, {"run_uid", "u"}, {"pid", pid}, {"state", state}};
    ASSERT_TRUE(write_file_durably(out() / "run.json", run.dump()));
    ASSERT_TRUE(write_file_durably(out().string() + ".controller.log", "old\n"));
  }
  test::TempDirectory folder_;
};

TEST_F(ChooseOutTest, AnEmptyPlaceIsTakenAsItIs) {
  const auto chosen = choose(false);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->out, out());
  EXPECT_FALSE(chosen->resume);
  EXPECT_FALSE(fs::exists(out()));
  EXPECT_EQ(choose(false, true).error().code, 64);  // nothing to resume
}

TEST_F(ChooseOutTest, ALiveRunIsNeverTouched) {
  const LiveController controller;
  leave_run("running", controller.pid());
  for (const auto& refused : {choose(false), choose(true), choose(false, true)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, 64);
    EXPECT_THAT(refused.error().message, HasSubstr("used by a live controller"));
  }
  EXPECT_TRUE(fs::exists(out() / "run.json"));
}

TEST_F(ChooseOutTest, AProcessIdThatIsSomebodyElsesNowIsNoLiveRun) {
  leave_run("running", ::getpid());
  const auto chosen = choose(false, true);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_TRUE(chosen->resume);
}

TEST_F(ChooseOutTest, AnEarlierRunIsRefusedUnlessAskedFor) {
  leave_run("succeeded", 0);
  const auto refused = choose(false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 64);
  EXPECT_THAT(refused.error().message, HasSubstr("holds a run already (succeeded)"));
}

TEST_F(ChooseOutTest, AnUnfinishedRunIsGoneOnWith) {
  for (const auto* state : {"stopped", "failed", "running"}) {
    leave_run(state, 0);
    const auto chosen = choose(true);
    ASSERT_TRUE(chosen) << chosen.error().message;
    EXPECT_TRUE(chosen->resume) << state;
    EXPECT_THAT(chosen->notice, HasSubstr("going on with it"));
  }
}

TEST_F(ChooseOutTest, AFinishedRunMovesAsideWithItsLog) {
  fs::create_directory(out().string() + ".1");
  leave_run("succeeded", 0);
  const auto chosen = choose(true);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_FALSE(chosen->resume);
  EXPECT_THAT(chosen->notice, HasSubstr(out().string() + ".2"));
  EXPECT_FALSE(fs::exists(out()));
  EXPECT_TRUE(fs::exists(out().string() + ".2/run.json"));
  EXPECT_TRUE(fs::exists(out().string() + ".2.controller.log"));
}

TEST_F(ChooseOutTest, WhereNothingCanBeWrittenTheCodeIs74) {
  ASSERT_TRUE(write_file_durably(out(), "a file"));
  const auto refused = choose(false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 74);
  EXPECT_THAT(refused.error().message, HasSubstr("is not a directory"));
  const auto nowhere = choose_out(RunOptions(), Where{"", "/proc/foo/bar", "/tmp"});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, 74);
  EXPECT_THAT(nowhere.error().message, HasSubstr("/proc/foo"));
}

}  // namespace
}  // namespace swage::cli
