#include "controller/adapters/run_file.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

namespace swage::controller {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const std::string kMinimal = R"(apiVersion: swage.dev/v1alpha1
kind: TrainingRun
metadata: {name: small, namespace: lab}
spec:
  preset: OneMachine
  deviceKind: cpu
  model: {source: "scratch:tiny"}
  tasks: [{set: builtin-cpu}]
)";

TEST(RunFile, ThePresetFillsWhatTheUserLeftOut) {
  const auto read = parse_run_file(kMinimal, "small.yaml");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->run.learning.preset, learner::Preset::one_machine);
  EXPECT_EQ(read->run.learning.learning.batch, 16U);
  EXPECT_EQ(read->run.learning.stages.collect.actor, learner::CollectActor::teacher);
  EXPECT_EQ(read->run.learning.stages.agentic.steps, 8U);
  EXPECT_EQ(read->run.rollouts.max_attempts, 3);
  EXPECT_EQ(read->run.sandbox.warm_min, 4);
}

TEST(RunFile, WhatTheUserGaveStandsAndTheRestStaysThePresets) {
  const auto read = parse_run_file(
      kMinimal +
          "  learning: {actorLearningRate: 0, lambda: 0.9}\n  stages: {agentic: {steps: 2}}\n",
      "small.yaml");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->run.learning.learning.actor_learning_rate, 0.0);
  EXPECT_EQ(read->run.learning.learning.lambda_policy, 0.9);
  EXPECT_EQ(read->run.learning.learning.lambda_value, 0.9);
  EXPECT_EQ(read->run.learning.stages.agentic.steps, 2U);
  EXPECT_EQ(read->run.learning.stages.agentic.turns, 10U);
}

TEST(RunFile, WithoutAPoolAFixedOneOfSizeOneIsMadeWithANotice) {
  const auto read = parse_run_file(kMinimal, "small.yaml");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->pool.full_name(), "lab.default");
  EXPECT_EQ(read->pool.replicas, 1);
  EXPECT_EQ(read->pool.scaling.mode, ScalingMode::fixed);
  EXPECT_EQ(read->pool.device_kind, DeviceKind::cpu);
  EXPECT_THAT(read->notices, Contains(HasSubstr("a Fixed one of size 1, lab.default, is made")));
}

TEST(RunFile, FieldsThatOnlyAClusterUsesAreIgnoredWithANotice) {
  const auto read =
      parse_run_file(kMinimal + "  sandbox: {image: x}\n  rolloutWorkers: {replicas: 3}\n", "f");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_THAT(read->notices, Contains(HasSubstr("spec.sandbox.image is ignored")));
  EXPECT_THAT(read->notices, Contains(HasSubstr("spec.rolloutWorkers makes no workers here")));
}

TEST(RunFile, EveryComplaintOfAFileIsReportedAtOnce) {
  const auto read = parse_run_file(kMinimal + "  sed: 1\n  weight: 0\n", "f");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().complaints.size(), 2U);
}

TEST(RunFile, TheQuickstartIsValid) {
  const char* root = std::getenv("SWAGE_SOURCE_DIR");
  ASSERT_NE(root, nullptr);
  const auto read = read_run_file(std::filesystem::path(root) / "examples/quickstart.yaml");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->pool.full_name(), "swage-pool.local");
  EXPECT_EQ(read->run.rollouts.concurrency, 4);
  EXPECT_TRUE(read->run.evaluation.allow_reduced_trust);
}

}  // namespace
}  // namespace swage::controller
