#include "controller/core/conditions.hpp"

#include <gmock/gmock.h>

namespace swage::controller {
namespace {

using ::testing::HasSubstr;

Condition of(const RunSituation& situation, const std::string& type) {
  for (const auto& one : run_conditions(situation))
    if (one.type == type) return one;
  return {};
}

WorkloadReconciler::Observed pod(PodPhase phase, const std::string& reason = "",
                                 const std::string& detail = "") {
  WorkloadReconciler::Observed out;
  out.phase = phase;
  out.reason = reason;
  out.detail = detail;
  return out;
}

TEST(Conditions, AllIsWellWhenNothingIsWrong) {
  RunSituation well;
  well.ready = true;
  well.network_isolated = true;
  well.attached = true;
  for (const auto& one : run_conditions(well))
    EXPECT_EQ(one.status, one.type != "Complete") << one.type;
}

TEST(Conditions, ARefusedObjectAndAnAbsentPoolSayWhatToDo) {
  RunSituation situation;
  situation.refused = Trouble{"Invalid", "spec.x must be y"};
  situation.pool = Trouble{"PoolNotFound", "make it"};
  EXPECT_EQ(of(situation, "Accepted").reason, "Invalid");
  EXPECT_EQ(of(situation, "PoolAvailable").message, "make it");
  situation.refused.reset();
  EXPECT_TRUE(of(situation, "Accepted").status);  // and clears
}

TEST(Conditions, APodThatCannotStartIsTheReasonAndNotOneThatIsMerelyStarting) {
  RunSituation situation;
  situation.pods["a"] = pod(PodPhase::running);
  situation.pods["b"] = pod(PodPhase::pending, "ImagePullBackOff", "check the image's name");
  const auto stuck = of(situation, "WorkloadsReady");
  EXPECT_EQ(stuck.reason, "ImagePullBackOff");
  EXPECT_THAT(stuck.message, HasSubstr("b: check the image's name"));
  situation.pods["b"] = pod(PodPhase::ready, "", "");
  EXPECT_EQ(of(situation, "WorkloadsReady").reason, "Starting");
  EXPECT_THAT(of(situation, "WorkloadsReady").message, HasSubstr("waits for a"));
}

TEST(Conditions, ASandboxThatIsRefusedExplainsMoreThanAnOpenCircuit) {
  RunSituation situation;
  situation.circuit_open = true;
  EXPECT_EQ(of(situation, "SandboxesHealthy").reason, "CircuitOpen");
  situation.sandbox = {"QuotaExceeded", "raise the quota"};
  EXPECT_EQ(of(situation, "SandboxesHealthy").reason, "QuotaExceeded");
}

TEST(Conditions, WhatASandboxCouldReachStandsUntilOneProvesOtherwise) {
  RunSituation situation;
  EXPECT_EQ(of(situation, "NetworkIsolated").reason, "NotRequired");
  situation.network_isolated = true;
  situation.leak = "10.0.0.1:443 can be reached";
  EXPECT_EQ(of(situation, "NetworkIsolated").reason, "Reachable");
  EXPECT_THAT(of(situation, "NetworkIsolated").message, HasSubstr("10.0.0.1:443"));
  situation.leak.clear();
  EXPECT_TRUE(of(situation, "NetworkIsolated").status);
}

TEST(Conditions, AFailedRunIsCompleteWithItsReason) {
  RunSituation situation;
  situation.over = true;
  situation.phase = "Failed";
  situation.failure = "the disk is full";
  const auto complete = of(situation, "Complete");
  EXPECT_TRUE(complete.status);
  EXPECT_EQ(complete.reason, "Failed");
  EXPECT_EQ(complete.message, "the disk is full");
}

TEST(Conditions, TheLearnersGuardrailsStandByTheirNames) {
  RunSituation situation;
  situation.learner.push_back({"RewardCollapse", true, "Fell", "look at the reward"});
  EXPECT_TRUE(of(situation, "RewardCollapse").status);
}

}  // namespace
}  // namespace swage::controller
