#include "cli/core/progress.hpp"

#include <gmock/gmock.h>

namespace swage::cli {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

json running() {
  return {{"name", "quickstart"},
          {"status",
           {{"phase", "Running"},
            {"stage", "agentic"},
            {"step", 3},
            {"stepsTotal", 8},
            {"weightVersion", 12},
            {"rewardMean", "2.100"},
            {"lengthMean", "311"},
            {"leases", {{"leased", 1}, {"waiting", 2}}},
            {"rollouts", {{"running", 4}, {"completed", 97}, {"infrastructureFailed", 0}}}}}};
}

TEST(ProgressLine, ShowsStageStepRewardLengthRolloutsLeasesAndWeights) {
  EXPECT_EQ(progress_line(run_view_from(running()), 200, 200),
            "3:20  agentic 3/8 | reward 2.100 | length 311 | rollouts 97 done, 4 running | "
            "leases 1, 2 wait | weights 12");
}

TEST(ProgressLine, BeforeTheFirstRolloutThereIsNothingMadeUp) {
  const auto view = run_view_from({{"status", {{"phase", "Pending"}, {"rewardMean", nullptr}}}});
  EXPECT_EQ(progress_line(view, 0, 200), "0:00  Pending | rollouts 0 done, 0 running | weights 0");
  EXPECT_EQ(run_view_from(json::array()), RunView());
}

TEST(ProgressLine, APauseAndLostRolloutsAreSaid) {
  auto run = running();
  run["status"]["pause"] = {{"id", "p1"}, {"reason", "RewardCollapse"}, {"message", "fell"}};
  run["status"]["rollouts"]["infrastructureFailed"] = 2;
  const auto line = progress_line(run_view_from(run), 0, 200);
  EXPECT_THAT(line, HasSubstr("PAUSED RewardCollapse: fell"));
  EXPECT_THAT(line, HasSubstr("2 re-issued"));
}

TEST(ProgressLine, IsNoWiderThanTheTerminal) {
  EXPECT_EQ(progress_line(run_view_from(running()), 200, 20).size(), 20U);
}

TEST(StableLine, ChangesWithTheRolloutsAndNotWithClockLengthOrLeases) {
  const auto before = run_view_from(running());
  auto after = before;
  after.length_mean = "340";
  after.leased = 0;
  after.waiting = 5;
  EXPECT_EQ(stable_line(before, 200), stable_line(after, 200));
  EXPECT_NE(progress_line(before, 0, 200), progress_line(after, 0, 200));
  ++after.completed;
  EXPECT_NE(stable_line(before, 200), stable_line(after, 200));
}

TEST(ResumeBodies, ASuspensionIsEndedWithoutAndAPauseWithItsId) {
  auto run = running();
  EXPECT_THAT(resume_bodies(run), IsEmpty());
  run["status"]["phase"] = "Suspended";
  EXPECT_THAT(resume_bodies(run), ElementsAre(""));
  run["status"]["pause"] = {{"id", "p1"}};
  EXPECT_THAT(resume_bodies(run), ElementsAre("", R"({"pause_id":"p1"})"));
  run["status"]["phase"] = "Paused";
  EXPECT_THAT(resume_bodies(run), ElementsAre(R"({"pause_id":"p1"})"));
}

json summary() {
  return {{"run", "quickstart"},
          {"wall_seconds", 312.4},
          {"reward_after_rft", 1.625},
          {"reward_final", 2.875},
          {"evaluation_rollouts", 16},
          {"rollouts", 224},
          {"infrastructure_failures", 1},
          {"evaluations", 221},
          {"verdicts", {{"ok", 200}, {"mismatch", 21}}},
          {"compile", {{"count", 221}, {"cache_hits", 658}}},
          {"isolation", "full"},
          {"trust", "full"},
          {"seed", 1}};
}

TEST(SummaryText, SaysHowManyEvaluationRolloutsAreBehindEachReward) {
  const auto text = summary_text(summary(), "out/quickstart");
  EXPECT_THAT(text, HasSubstr("reward after RFT        1.62 (mean of 16 evaluation rollouts)"));
  EXPECT_THAT(text, HasSubstr("reward at the end       2.88 (mean of 16 evaluation rollouts)"));
}

TEST(SummaryText, HoldsTheFiguresAndWhereToLook) {
  const auto text = summary_text(summary(), "out/quickstart");
  for (const auto* part :
       {"run quickstart has ended", "time                    5:12", "224 (1 lost and re-issued)",
        "mismatch              21", "221 (658 of their units from the cache)", "full, full",
        "swage show ROLLOUT --out out/quickstart", "out/quickstart/reward.png"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(SummaryText, WithoutEvaluationsThereIsNoReward) {
  auto none = summary();
  none["reward_after_rft"] = none["reward_final"] = nullptr;
  none["evaluation_rollouts"] = 0;
  const auto text = summary_text(none, "o");
  EXPECT_THAT(text, HasSubstr("reward after RFT        -\n"));
  EXPECT_THAT(text, Not(HasSubstr("mean of")));
}

}  // namespace
}  // namespace swage::cli
