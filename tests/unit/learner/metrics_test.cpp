#include <gtest/gtest.h>

#include "learner/adapters/learner_metrics.hpp"

namespace swage::learner {
namespace {

const char* const kPauses =
    R"(swage_learner_guardrail_actions_total{action="pause",signal="RewardCollapse"} )";

TEST(LearnerMetrics, AGuardrailThatAsksForARollbackIsCountedAsThePauseThatItGets) {
  Metrics metrics;
  LearnerMetrics learner(metrics);
  EXPECT_NE(metrics.text().find(std::string(kPauses) + "0"), std::string::npos) << metrics.text();
  learner.guardrail_paused(Signal::reward_collapse);
  EXPECT_NE(metrics.text().find(std::string(kPauses) + "1"), std::string::npos) << metrics.text();
  EXPECT_EQ(metrics.text().find("rollback"), std::string::npos);
}

TEST(LearnerMetrics, OfTheTrajectoriesTheLearnerCountsWhatItAnswersAndTheWorkerWhatItEarned) {
  Metrics metrics;
  LearnerMetrics learner(metrics);
  learner.submitted("accepted");
  EXPECT_NE(metrics.text().find(R"(swage_learner_trajectories_total{result="accepted"} 1)"),
            std::string::npos);
  EXPECT_EQ(metrics.text().find("swage_rollout_"), std::string::npos);
}

}  // namespace
}  // namespace swage::learner
