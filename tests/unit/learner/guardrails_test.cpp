#include "learner/core/guardrails.hpp"

#include <gmock/gmock.h>

#include <random>

namespace swage::learner {
namespace {

using Kind = GuardEvent::Kind;
using ::testing::IsEmpty;

GuardInput healthy(std::uint64_t step) {
  GuardInput in;
  in.step = step;
  in.reward_mean = 1.5;
  in.entropy = 1.0;
  in.behaviour_k3 = 0.001;
  in.explained_variance = 0.6;
  in.truncated_share = 0.02;
  in.repetition_share = 0.01;
  in.infrastructure_share = 0.01;
  return in;
}

/// Feeds `count` healthy steps and returns the next step's number.
std::uint64_t settle(Guardrails& guard, std::uint64_t count) {
  for (std::uint64_t step = 1; step <= count; ++step)
    EXPECT_THAT(guard.observe(healthy(step)), IsEmpty());
  return count + 1;
}

TEST(Guardrails, AThousandHealthyNoisySteps) {
  Guardrails guard({});
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 1);
  for (std::uint64_t step = 1; step <= 1000; ++step) {
    auto in = healthy(step);
    in.reward_mean = 1.5 + 0.1 * noise(random);
    in.entropy = 1.0 + 0.05 * noise(random);
    in.truncated_share = std::abs(0.02 * noise(random));
    in.explained_variance = 0.5 + 0.05 * noise(random);
    for (const auto& event : guard.observe(in)) EXPECT_NE(event.kind, Kind::action);
  }
}

TEST(Guardrails, RewardFallingWhileEntropyRisesActsWithinFiveSteps) {
  Guardrails guard({});
  auto step = settle(guard, 30);
  int acted_after = 0;
  for (int i = 1; i <= 5 && acted_after == 0; ++i, ++step) {
    auto in = healthy(step);
    in.reward_mean = 1.5 - 0.6 * i;
    in.entropy = 1.0 + 0.6 * i;
    for (const auto& event : guard.observe(in))
      if (event.kind == Kind::action) {
        acted_after = i;
        EXPECT_EQ(event.action, GuardAction::rollback);
      }
  }
  EXPECT_GT(acted_after, 0);
}

TEST(Guardrails, LengthExplosionAlertsBeforeAThirdIsTruncated) {
  Guardrails guard({});
  auto step = settle(guard, 20);
  double alerted_at = 1;
  bool acted = false;
  for (double share = 0.02; share < 0.9; share += 0.04, ++step) {
    auto in = healthy(step);
    in.truncated_share = share;
    in.explained_variance = 0.15;
    for (const auto& event : guard.observe(in)) {
      if (event.signal != Signal::length_explosion) continue;
      if (event.kind == Kind::alert) alerted_at = share;
      acted = acted || event.kind == Kind::action;
    }
  }
  EXPECT_LT(alerted_at, 0.3);
  EXPECT_TRUE(acted);
}

TEST(Guardrails, OneOutlierDoesNothingButAlert) {
  Guardrails guard({});
  auto step = settle(guard, 20);
  auto in = healthy(step++);
  in.reward_mean = -1;
  in.truncated_share = 1;
  for (const auto& event : guard.observe(in)) EXPECT_EQ(event.kind, Kind::alert);
  for (int i = 0; i < 20; ++i)
    for (const auto& event : guard.observe(healthy(step++))) EXPECT_EQ(event.kind, Kind::cleared);
  EXPECT_FALSE(guard.any_alert());
}

TEST(Guardrails, ClearsAfterFiveStepsBeyondTheClearValueAndNotAfterFour) {
  Guardrails guard({});
  auto in = healthy(1);
  in.truncated_share = 0.2;
  guard.observe(in);
  for (std::uint64_t i = 0; i < 4; ++i) guard.observe(healthy(2 + i));
  EXPECT_TRUE(guard.alerting(Signal::length_explosion));
  in.truncated_share = 0.12;  // between clear and alert: the count starts again
  guard.observe(in);
  for (std::uint64_t i = 0; i < 4; ++i) guard.observe(healthy(7 + i));
  EXPECT_TRUE(guard.alerting(Signal::length_explosion));
  guard.observe(healthy(11));
  EXPECT_FALSE(guard.alerting(Signal::length_explosion));
}

TEST(Guardrails, ActsOnThreeOfTheLastFiveStepsAndNotOnTwo) {
  Guardrails guard({});
  const auto acts = [&](double share) {
    auto in = healthy(1);
    in.truncated_share = share;
    for (const auto& event : guard.observe(in))
      if (event.kind == Kind::action) return true;
    return false;
  };
  EXPECT_FALSE(acts(0.5));
  EXPECT_FALSE(acts(0.5));
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(acts(0.2));
  EXPECT_FALSE(acts(0.5));  // the first two are out of the window
  EXPECT_FALSE(acts(0.2));
  EXPECT_FALSE(acts(0.5));
  EXPECT_TRUE(acts(0.5));
}

TEST(Guardrails, AfterAnActionNoneFollowsForTenStepsAndTheThirdRollbackPauses) {
  Guardrails guard({});
  std::vector<std::pair<std::uint64_t, GuardAction>> actions;
  for (std::uint64_t step = 1; step <= 40; ++step) {
    auto in = healthy(step);
    in.truncated_share = 0.9;
    for (const auto& event : guard.observe(in))
      if (event.kind == Kind::action) actions.emplace_back(step, event.action);
  }
  ASSERT_GE(actions.size(), 3U);
  EXPECT_EQ(actions[0].first, 3U);
  EXPECT_GE(actions[1].first - actions[0].first, 10U);
  EXPECT_EQ(actions[1].second, GuardAction::rollback);
  EXPECT_EQ(actions[2].second, GuardAction::pause);
}

TEST(Guardrails, ASkippedStepAlertsAndThreeOfThemPause) {
  Guardrails guard({});
  auto in = healthy(1);
  in.skipped = true;
  EXPECT_EQ(guard.observe(in).at(0).kind, Kind::alert);
  guard.observe(in);
  const auto third = guard.observe(in);
  ASSERT_EQ(third.size(), 1U);
  EXPECT_EQ(third[0].action, GuardAction::pause);
}

TEST(Guardrails, AVerySurePolicyThatExploresAgainIsNoSpike) {
  const auto events = [](double risen) {
    Guardrails guard({});
    std::size_t count = 0;
    for (std::uint64_t step = 1; step <= 12; ++step) {
      auto in = healthy(step);
      in.entropy = step <= 5 ? 0.009 : risen;
      count += guard.observe(in).size();
    }
    return count;
  };
  EXPECT_EQ(events(0.1), 0U);
  EXPECT_GE(events(0.3), 1U);
}

TEST(Guardrails, SwitchesTurnOffCriticUnfitAndTheLowSideOfEntropy) {
  const auto events = [](GuardSwitches switches) {
    Guardrails guard(switches);
    std::size_t count = 0;
    for (std::uint64_t step = 1; step <= 9; ++step) {
      auto in = healthy(step);
      in.explained_variance = -1;
      if (step > 5) in.entropy = 0.1;
      count += guard.observe(in).size();
    }
    return count;
  };
  EXPECT_EQ(events({.critic_unfit = false, .low_entropy = false}), 0U);
  EXPECT_EQ(events({.critic_unfit = false, .low_entropy = true}), 1U);
  EXPECT_GE(events({.critic_unfit = true, .low_entropy = false}), 2U);
}

TEST(Guardrails, GoOnFromASavedState) {
  Guardrails one({}), two({});
  for (std::uint64_t step = 1; step <= 12; ++step) {
    auto in = healthy(step);
    if (step > 10) in.truncated_share = 0.9;
    one.observe(in);
  }
  Guardrails restored({}, one.state());
  auto in = healthy(13);
  in.truncated_share = 0.9;
  EXPECT_EQ(restored.observe(in).size(), one.observe(in).size());
}

TEST(Guardrails, ANewStageStartsAfreshButCountsRollbacks) {
  Guardrails guard({});
  for (std::uint64_t step = 1; step <= 3; ++step) {
    auto in = healthy(step);
    in.truncated_share = 0.9;
    guard.observe(in);
  }
  EXPECT_EQ(guard.state().rollbacks, 1U);
  guard.enter_stage();
  EXPECT_FALSE(guard.any_alert());
  EXPECT_EQ(guard.state().rollbacks, 1U);
  EXPECT_EQ(guard.state().cooldown, 0U);
}

}  // namespace
}  // namespace swage::learner
