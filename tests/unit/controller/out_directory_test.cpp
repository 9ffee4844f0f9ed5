#include "controller/adapters/out_directory.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/temp_directory.hpp"

namespace swage::controller {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kText = R"(apiVersion: swage.dev/v1alpha1
kind: TrainingRun
metadata: {name: small}
spec: {preset: OneMachine, deviceKind: cpu, model: {source: "scratch:tiny"}, tasks: [{set: builtin-cpu}]}
)";

TrainingRun small() {
  TrainingRun run;
  run.name = "small";
  run.device_kind = DeviceKind::cpu;
  run.model_source = "scratch:tiny";
  return run;
}

class OutDirectoryTest : public ::testing::Test {
 protected:
  fs::path out() const { return directory_.path() / "run"; }
  auto open(bool resume, const TrainingRun& run = small()) {
    return OutDirectory::open(out(), run, kText, resume);
  }
  /// A run that was started once and ended.
  std::string finished_run() {
    auto first = open(false);
    EXPECT_TRUE(first);
    EXPECT_TRUE((*first)->write_json("run.json", {{"run_uid", (*first)->run_uid()}}));
    return (*first)->run_uid();
  }
  test::TempDirectory directory_;
};

TEST_F(OutDirectoryTest, ANewRunGetsAUidAndItsFolders) {
  const auto made = open(false);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)->run_uid().size(), 32U);
  EXPECT_EQ((*made)->evaluation_rollouts(), 64U);
  for (const auto* name : {"logs", "secrets", "pods", "run.yaml"})
    EXPECT_TRUE(fs::exists(out() / name)) << name;
  struct stat info{};
  ASSERT_EQ(::stat((out() / "secrets").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST_F(OutDirectoryTest, AResumedRunKeepsItsUid) {
  const auto uid = finished_run();
  const auto again = open(true);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->run_uid(), uid);
}

TEST_F(OutDirectoryTest, ADirectoryInUseIsRefusedAndFreeAgainAfterwards) {
  auto first = open(false);
  ASSERT_TRUE(first);
  ASSERT_TRUE((*first)->write_json("run.json", {{"run_uid", (*first)->run_uid()}}));
  const auto second = open(true);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, OutErrc::in_use);
  first->reset();
  EXPECT_TRUE(open(true));
}

TEST_F(OutDirectoryTest, AFinishedRunIsNotOverwritten) {
  finished_run();
  const auto again = open(false);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, OutErrc::another_run);
  EXPECT_THAT(again.error().message, HasSubstr("--resume"));
}

TEST_F(OutDirectoryTest, AnotherRunsDirectoryIsRefusedByTheFieldThatDiffers) {
  finished_run();
  auto other = small();
  other.seed = 2;
  const auto again = open(true, other);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, OutErrc::another_run);
  EXPECT_THAT(again.error().message, HasSubstr("spec.seed"));
  other = small();
  other.learning.learning.batch = 99;  // may change between lives
  EXPECT_TRUE(open(true, other));
}

TEST_F(OutDirectoryTest, AResumedRunKeepsItsNumberOfEvaluationRollouts) {
  const auto start = [this](bool resume, std::optional<std::uint64_t> rollouts) {
    auto made = OutDirectory::open(out(), small(), kText, resume, rollouts);
    if (made) {
      EXPECT_TRUE((*made)->write_json("run.json",
                                      {{"run_uid", (*made)->run_uid()},
                                       {"evaluation_rollouts", (*made)->evaluation_rollouts()}}));
    }
    return made;
  };
  EXPECT_EQ((*start(false, 2))->evaluation_rollouts(), 2U);
  EXPECT_EQ((*start(true, {}))->evaluation_rollouts(), 2U);
  EXPECT_EQ((*start(true, 2))->evaluation_rollouts(), 2U);
  const auto other = start(true, 64);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, OutErrc::another_run);
  EXPECT_THAT(other.error().message, HasSubstr("--evaluation-rollouts 2, not 64"));
}

TEST_F(OutDirectoryTest, NothingToResumeAndForeignFilesAreRefused) {
  EXPECT_EQ(open(true).error().code, OutErrc::not_a_run);
  EXPECT_FALSE(fs::exists(out()));
  fs::create_directories(out());
  ASSERT_TRUE(write_file_durably(out() / "thesis.tex", "precious"));
  const auto refused = open(false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, OutErrc::not_a_run);
  EXPECT_TRUE(fs::exists(out() / "thesis.tex"));
}

TEST_F(OutDirectoryTest, AnEpochOnlyRises) {
  const auto made = open(false);
  ASSERT_TRUE(made);
  EXPECT_EQ((*made)->raise_epoch(0), 1U);
  EXPECT_EQ((*made)->raise_epoch(0), 2U);
  EXPECT_EQ((*made)->raise_epoch(10), 11U);
  EXPECT_EQ((*made)->raise_epoch(3), 12U);
}

TEST_F(OutDirectoryTest, ASecretIsMadeOnceAndOnlyItsOwnerReadsIt) {
  const auto made = open(false);
  ASSERT_TRUE(made);
  const auto file = (*made)->secret("token");
  ASSERT_TRUE(file);
  const auto content = read_file(*file);
  ASSERT_TRUE(content);
  EXPECT_EQ(content->size(), 64U);
  struct stat info{};
  ASSERT_EQ(::stat(file->c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(read_file(*(*made)->secret("token")).value_or(""), *content);
}

TEST_F(OutDirectoryTest, TotalsSurviveARestart) {
  const auto made = open(false);
  ASSERT_TRUE(made);
  RunTotals totals;
  totals.evaluations = 7;
  totals.verdicts["ok"] = 5;
  totals.wall_seconds = 12.5;
  totals.stages = {{Stage::collect, 1, 2, 0}, {Stage::agentic, 2, 0, 3}};
  ASSERT_TRUE((*made)->save_totals(totals));
  const auto read = (*made)->totals();
  EXPECT_EQ(read.evaluations, 7U);
  EXPECT_EQ(read.verdicts.at("ok"), 5U);
  EXPECT_EQ(read.wall_seconds, 12.5);
  ASSERT_EQ(read.stages.size(), 2U);
  EXPECT_EQ(read.stages[1].stage, Stage::agentic);
  EXPECT_EQ(read.stages[1].steps, 3U);
}

}  // namespace
}  // namespace swage::controller
