#include "controller/core/rollout_bounds.hpp"

#include <gtest/gtest.h>

namespace swage::controller {
namespace {

TrainingRun run_of(learner::Preset preset) {
  TrainingRun run;
  run.learning = learner::preset_settings(preset);
  return run;
}

TEST(RolloutBounds, AnEvaluationInAClusterHasThePapersTurnsAndOnOneMachineThoseOfTheAgenticStage) {
  const auto cluster = run_of(learner::Preset::cluster);
  EXPECT_EQ(bounds_of(cluster, Stage::agentic).turns, 150U);
  EXPECT_EQ(bounds_of(cluster, Stage::eval1).turns, 200U);
  EXPECT_EQ(bounds_of(cluster, Stage::eval2).turns, 200U);

  auto small = run_of(learner::Preset::one_machine);
  small.learning.stages.agentic.turns = 7;
  EXPECT_EQ(bounds_of(small, Stage::agentic).turns, 7U);
  EXPECT_EQ(bounds_of(small, Stage::eval2).turns, 7U);
}

TEST(RolloutBounds, ASingleTurnHasItsOwnContext) {
  const auto run = run_of(learner::Preset::cluster);
  EXPECT_EQ(bounds_of(run, Stage::single_turn).turns, 1U);
  EXPECT_EQ(bounds_of(run, Stage::single_turn).context_tokens, 32'768U);
  EXPECT_EQ(bounds_of(run, Stage::collect).context_tokens, 131'072U);
}

TEST(RolloutBounds, MessagesAndObservationsFollowThePreset) {
  const auto cluster = bounds_of(run_of(learner::Preset::cluster), Stage::agentic);
  EXPECT_EQ(cluster.turn_tokens, 8'192U);
  EXPECT_EQ(cluster.observation_tokens, 8'000U);
  const auto small = bounds_of(run_of(learner::Preset::one_machine), Stage::agentic);
  EXPECT_EQ(small.turn_tokens, 512U);
  EXPECT_EQ(small.observation_tokens, 256U);
}

TEST(RolloutBounds, TheClockIsTheRunsOwn) {
  auto run = run_of(learner::Preset::cluster);
  run.rollouts.wall_clock_seconds = 600;
  EXPECT_EQ(bounds_of(run, Stage::agentic).wall_clock_seconds, 600U);
}

}  // namespace
}  // namespace swage::controller
