#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rollout_worker/app/rollout_metrics.hpp"
#include "sandbox/api/tool_schema.hpp"

namespace swage::rollout_worker {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RolloutMetrics, ALeaseWaitIsCountedUnderItsClassAndEveryClassIsThereFromTheStart) {
  Metrics registry;
  RolloutMetrics metrics(registry);
  EXPECT_THAT(registry.text(), HasSubstr(R"(lease_wait_seconds_count{class="verify"} 0)"));
  metrics.lease_waited(EvaluationMode::score, 0.25);
  EXPECT_THAT(registry.text(), HasSubstr(R"(lease_wait_seconds_sum{class="score"} 0.25)"));
  EXPECT_THAT(registry.text(), HasSubstr(R"(lease_wait_seconds_count{class="profile"} 0)"));
}

TEST(RolloutMetrics, AHeldLeaseIsObservedOnce) {
  Metrics registry;
  RolloutMetrics metrics(registry);
  metrics.lease_held(1.5);
  EXPECT_THAT(registry.text(), HasSubstr("swage_pool_lease_hold_seconds_sum 1.5"));
  EXPECT_THAT(registry.text(), HasSubstr("swage_pool_lease_hold_seconds_count 1"));
}

TEST(RolloutMetrics, TheJudgesNoiseIsHalfTheIntervalAndOnlyOfWhatWasTimed) {
  Metrics registry;
  RolloutMetrics metrics(registry);
  Judgement judgement;
  judgement.code = "mismatch";
  metrics.judged(judgement, 1);
  EXPECT_THAT(registry.text(), HasSubstr("swage_judge_ab_noise_ratio_count 0"));
  judgement.code = "ok";
  judgement.to_eager = MeasuredRatio{0.5, 0.25, 0.75};
  metrics.judged(judgement, 1);
  EXPECT_THAT(registry.text(), HasSubstr("swage_judge_ab_noise_ratio_sum 0.5"));
  EXPECT_THAT(registry.text(), Not(HasSubstr("swage_judge_ab_noise_ratio_count 2")));
}

TEST(RolloutMetrics, EveryToolOfTheSandboxIsThereFromTheStartAndAnInventedOneIsOther) {
  Metrics registry;
  RolloutMetrics metrics(registry);
  for (const auto& tool : sandbox::tool_names())
    EXPECT_THAT(registry.text(),
                HasSubstr(R"(tool_calls_total{result="malformed",tool=")" + tool + R"("} 0)"));
  EXPECT_THAT(registry.text(), Not(HasSubstr("NotebookEdit")));
  ToolOutcome outcome;
  metrics.tool_returned("Invented\n", outcome);
  EXPECT_THAT(registry.text(), Not(HasSubstr("Invented")));
  EXPECT_THAT(registry.text(), HasSubstr(R"(tool_seconds_count{tool="other"} 1)"));
}

TEST(RolloutMetrics, AVerdictThatWasNotKnownBeforeIsOneSeries) {
  Metrics registry;
  RolloutMetrics metrics(registry);
  Judgement judgement;
  judgement.code = "of_a_newer_judge";
  metrics.judged(judgement, 1);
  metrics.judged(judgement, 1);
  EXPECT_THAT(registry.text(), HasSubstr(R"(total{mode="verify",verdict="of_a_newer_judge"} 2)"));
}

}  // namespace
}  // namespace swage::rollout_worker
