#include "cli/adapters/controller_log.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "common/base/files.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ControllerLogTest : public ::testing::Test {
 protected:
  fs::path out() const { return folder_.path() / "run"; }
  fs::path file() const { return folder_.path() / "run.controller.log"; }
  void write(const std::string& text) const { std::ofstream(file(), std::ios::app) << text; }
  test::TempDirectory folder_;
};

TEST_F(ControllerLogTest, OnlyWhatThisStartWroteIsSaidAndTakenBack) {
  write("of an earlier life\n");
  auto log = ControllerLog::take(out());
  ASSERT_TRUE(log);
  EXPECT_EQ(log->path(), file());
  EXPECT_EQ(log->said(), "");
  write("refused\n");
  EXPECT_EQ(log->said(), "refused\n");
  log->undo();
  EXPECT_EQ(read_file(file()).value_or(""), "of an earlier life\n");
}

TEST_F(ControllerLogTest, TheLogOfAStartThatWasRefusedGoes) {
  auto log = ControllerLog::take(out());
  ASSERT_TRUE(log);
  write("refused\n");
  log->undo();
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(ControllerLogTest, TwoStartsDoNotShareALog) {
  {
    const auto first = ControllerLog::take(out());
    ASSERT_TRUE(first);
    const auto second = ControllerLog::take(out());
    ASSERT_FALSE(second);
    EXPECT_TRUE(second.error().in_use);
    EXPECT_THAT(second.error().message, HasSubstr("another `swage run`"));
  }
  EXPECT_TRUE(ControllerLog::take(out()));
}

TEST_F(ControllerLogTest, WhereNothingCanBeWrittenTheFileIsNamed) {
  const auto log = ControllerLog::take("/proc/run");
  ASSERT_FALSE(log);
  EXPECT_FALSE(log.error().in_use);
  EXPECT_THAT(log.error().message, HasSubstr("/proc/run.controller.log"));
}

}  // namespace
}  // namespace swage::cli
