#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "common/base/redundant_turns.hpp"
#include "learner/core/batch.hpp"
#include "learner/core/packing.hpp"
#include "learner/core/repetition.hpp"
#include "learner/core/reward.hpp"
#include "learner/core/rft_filter.hpp"
#include "learner/core/stage_plan.hpp"
#include "tests/unit/learner/sample.hpp"

namespace swage::learner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

VerdictSummary right(std::uint32_t tier, double ratio = 0.5) {
  VerdictSummary v;
  v.scored = true;
  v.outcome = Outcome::right;
  v.tier = tier;
  v.ratio_compile = ratio;
  return v;
}

TEST(Reward, FollowsFromTheVerdict) {
  auto v = right(3);
  EXPECT_EQ(reward_of(v, RewardKind::paper), 3.0);
  EXPECT_EQ(reward_of(v, RewardKind::speedup), 2.0);
  v.outcome = Outcome::wrong;
  EXPECT_EQ(reward_of(v, RewardKind::paper), -1.0);
  EXPECT_EQ(reward_of(v, RewardKind::speedup), -1.0);
  v.outcome = Outcome::unstable;
  EXPECT_EQ(reward_of(v, RewardKind::paper), 1.0);
  EXPECT_EQ(reward_of(v, RewardKind::speedup), -1.0);
  v.outcome = Outcome::none;
  EXPECT_EQ(reward_of(v, RewardKind::paper), std::nullopt);
  EXPECT_EQ(reward_of(right(0), RewardKind::paper), std::nullopt);
  EXPECT_EQ(reward_of(right(2, 0), RewardKind::speedup), -1.0);
  auto profile = right(2);
  profile.scored = false;
  EXPECT_EQ(reward_of(profile, RewardKind::paper), std::nullopt);
}

TEST(Reward, AtAnObservationMovesToTheNearestEarlierPolicyToken) {
  auto t = sample_trajectory("a-0", 2, 4, 3);  // sampled: 4 5 6 and 11 12 13
  Learning learning;
  EXPECT_THAT(token_rewards(t, learning, 64), ElementsAre(0, 0, 0, 0, 0, 3));
  t.rewards[0].position = 8;
  EXPECT_THAT(token_rewards(t, learning, 64), ElementsAre(0, 0, 3, 0, 0, 0));
  t.rewards[0].position = 1;
  EXPECT_THAT(token_rewards(t, learning, 64), ElementsAre(3, 0, 0, 0, 0, 0));
  t.mask.assign(t.mask.size(), 0);
  EXPECT_THAT(token_rewards(t, learning, 64), IsEmpty());
}

TEST(Reward, SoftOverlongPunishesOnlyTruncatedTrajectories) {
  auto t = sample_trajectory("a-0", 2, 4, 3);  // 18 tokens
  Learning learning;
  learning.overlong = Overlong::soft;
  learning.overlong_tokens = 8;
  EXPECT_EQ(token_rewards(t, learning, 20).back(), 3);
  t.truncated = true;
  EXPECT_EQ(token_rewards(t, learning, 20).back(), 3 - 6.0 / 8);
  EXPECT_EQ(token_rewards(t, learning, 40).back(), 3);
  learning.overlong = Overlong::keep;
  EXPECT_EQ(token_rewards(t, learning, 20).back(), 3);
}

Turn turn(const std::string& arguments, const std::string& seen, const std::string& work) {
  Turn t;
  t.calls = {{"Bash", arguments, true}};
  t.observation_digest = seen;
  t.work_digest = work;
  return t;
}

/// `good` turns that differ, then these.
std::vector<Turn> after_good_turns(std::size_t good, std::vector<Turn> then) {
  std::vector<Turn> out;
  for (std::size_t i = 0; i < good; ++i)
    out.push_back(turn("good " + std::to_string(i), "seen", "work " + std::to_string(i)));
  out.insert(out.end(), then.begin(), then.end());
  return out;
}

TEST(RftFilter, ATurnIsRedundantOnlyWhileTheWorkDirectoryIsUnchanged) {
  const std::vector<Turn> turns{turn("ls", "a", "w"), turn("ls", "a", "w"), turn("ls", "b", "w"),
                                turn("ls", "a", "x"), turn("ls", "a", "x")};
  EXPECT_THAT(redundant_turns(turns), ElementsAre(false, true, false, false, true));
}

TEST(RftFilter, ThreeRedundantTurnsInARowAreALoopAndTwoAreNot) {
  const auto same = turn("ls", "a", "w");
  EXPECT_TRUE(has_redundant_loop(after_good_turns(30, {same, same, same, same})));
  EXPECT_FALSE(has_redundant_loop(after_good_turns(30, {same, same})));
}

TEST(RftFilter, ACycleOfTwoTurnsThreeTimesIsALoopAndTwiceIsNot) {
  const auto a = turn("ls", "a", "w"), b = turn("cat", "b", "w");
  EXPECT_TRUE(has_redundant_loop(after_good_turns(30, {a, b, a, b, a, b})));
  EXPECT_FALSE(has_redundant_loop(after_good_turns(30, {a, b, a, b})));
}

TEST(RftFilter, MoreThanAFifthRedundantIsALoop) {
  const auto same = turn("ls", "a", "w");
  EXPECT_TRUE(has_redundant_loop(after_good_turns(2, {same, same})));   // 1 of 4
  EXPECT_FALSE(has_redundant_loop(after_good_turns(3, {same, same})));  // 1 of 5
}

TEST(RftFilter, KeepsOnlyRewardedSchemaValidTrajectoriesWithoutLoops) {
  EXPECT_EQ(rft_filter(sample_trajectory()), RftVerdict::keep);
  EXPECT_EQ(rft_filter(sample_trajectory("a", 2, 4, -1)), RftVerdict::not_rewarded);
  auto t = sample_trajectory();
  t.turns[1].calls[0].schema_valid = false;
  EXPECT_EQ(rft_filter(t), RftVerdict::schema_invalid);
  t = sample_trajectory("a", 4);
  for (auto& each : t.turns) each = t.turns[0];
  EXPECT_EQ(rft_filter(t), RftVerdict::redundant_loop);
  t.mask.assign(t.mask.size(), 0);
  EXPECT_EQ(rft_filter(t), RftVerdict::empty);
}

TEST(Repetition, AWindowSeenFiveTimesIsNoticedAndFourTimesIsNot) {
  Trajectory t;
  for (int i = 0; i < 64 * 5; ++i) t.ids.push_back(static_cast<std::uint32_t>(i % 64));
  t.mask.assign(t.ids.size(), 1);
  EXPECT_TRUE(has_repeated_window(t));
  t.mask[0] = 0;  // one token less: no fifth whole window
  EXPECT_FALSE(has_repeated_window(t));
}

std::vector<ReadyTrajectory> groups(std::uint64_t count, std::uint32_t size,
                                    std::uint64_t start = 0) {
  std::vector<ReadyTrajectory> out;
  for (std::uint64_t g = 0; g < count; ++g)
    for (std::uint32_t m = 0; m < size; ++m)
      out.push_back({std::to_string(g) + "-" + std::to_string(m), g, m, start});
  return out;
}

TEST(Batch, TakesTheOldestCompleteGroupsInOrder) {
  auto ready = groups(3, 2);
  ready[4].start = ready[5].start = 0;
  ready[0].start = ready[1].start = 1;  // group 0 began later
  std::reverse(ready.begin(), ready.end());
  EXPECT_THAT(*select_batch(ready, {.step = 1, .batch = 4, .group_size = 2, .staleness = 2}),
              ElementsAre("1-0", "1-1", "2-0", "2-1"));
}

TEST(Batch, WaitsForACompleteGroup) {
  auto ready = groups(2, 2);
  ready.pop_back();
  EXPECT_FALSE(select_batch(ready, {.batch = 4, .group_size = 2}));
  EXPECT_FALSE(select_batch(ready, {.batch = 3, .group_size = 2}));
  EXPECT_TRUE(select_batch(ready, {.batch = 2, .group_size = 2}));
}

TEST(Batch, IsHeldWhileAnOlderRolloutThatMustBeInItStillRuns) {
  // eta 1, step 1: what started at step 0 must be trained now, or it is too old at step 2.
  BatchQuestion q{.step = 1, .batch = 2, .group_size = 1, .staleness = 1};
  const std::vector<ReadyTrajectory> young{{"a", 0, 0, 1}, {"b", 1, 0, 1}};
  EXPECT_TRUE(select_batch(young, q));
  q.running_starts = {0};
  EXPECT_FALSE(select_batch(young, q));
  q.running_starts = {1, 1};  // these may be in the next batch
  EXPECT_TRUE(select_batch(young, q));
  q.running_starts = {1, 1, 1};  // one of the three would be left over
  EXPECT_FALSE(select_batch(young, q));
}

/// Rollouts with a long tail, dispatched by the capacity rule: nothing trained is older than eta.
TEST(Batch, TheHoldKeepsTheStalenessBoundUnderALongTail) {
  struct Rollout {
    std::uint64_t start, ends, id;
  };
  std::mt19937 random(5);
  std::lognormal_distribution<double> length(1.0, 1.2);
  for (const std::uint32_t eta : {0U, 1U, 4U}) {
    const std::uint32_t batch = 8;
    std::vector<Rollout> running;
    std::vector<ReadyTrajectory> ready;
    std::uint64_t step = 0, next = 0, now = 0, worst = 0;
    for (; step < 60 && now < 100'000; ++now) {
      while ((eta + step + 1) * batch > step * batch + ready.size() + running.size()) {
        running.push_back({step, now + 1 + static_cast<std::uint64_t>(length(random)), next});
        ++next;
      }
      for (auto it = running.begin(); it != running.end();) {
        if (it->ends > now) {
          ++it;
          continue;
        }
        ready.push_back({std::to_string(it->id), it->id, 0, it->start});
        it = running.erase(it);
      }
      BatchQuestion q{.step = step, .batch = batch, .group_size = 1, .staleness = eta};
      for (const auto& r : running) q.running_starts.push_back(r.start);
      const auto ids = select_batch(ready, q);
      if (!ids) continue;
      const std::set<std::string> taken(ids->begin(), ids->end());
      for (const auto& t : ready)
        if (taken.contains(t.rollout_id)) worst = std::max(worst, step - t.start);
      std::erase_if(ready, [&](const auto& t) { return taken.contains(t.rollout_id); });
      ++step;
    }
    EXPECT_EQ(step, 60U) << "eta " << eta << ": it must not hang";
    EXPECT_LE(worst, eta);
  }
}

TEST(Batch, PresumesMissingMembersToHaveStartedAsEarlyAsCapacityAllowed) {
  const auto ready = groups(1, 1);  // group 0 lacks its second member; group 1 lacks both
  const BatchQuestion q{.batch = 2, .group_size = 2, .staleness = 1};
  EXPECT_THAT(presumed_running(ready, {}, 2, q), ElementsAre(0, 0, 0));
  const std::vector<std::uint64_t> consumed{0, 1, 2};
  EXPECT_THAT(presumed_running({}, consumed, 5, q), ElementsAre(2, 2, 3, 3));
}

TEST(StagePlan, GoesThroughEverythingThatIsSwitchedOn) {
  auto s = preset_settings(Preset::one_machine);
  const auto names = [](const Settings& settings) {
    std::string out;
    for (const auto& slot : stage_plan(settings)) out += slot_name(slot) + " ";
    return out;
  };
  EXPECT_EQ(names(s), "collect rft evaluation1 critic agentic evaluation2 done ");
  s.stages.rft.enabled = false;
  s.stages.critic.enabled = false;
  EXPECT_EQ(names(s), "collect evaluation1 agentic evaluation2 done ");
  s.evaluation_rollouts = 0;
  s.stages.single_turn.enabled = true;
  EXPECT_EQ(names(s), "single_turn collect agentic done ");
}

TEST(Settings, TheOneMachinePresetIsTheDesignsColumn) {
  const auto s = preset_settings(Preset::one_machine);
  EXPECT_EQ(s.learning.batch, 16U);
  EXPECT_EQ(s.learning.epochs, 2U);
  EXPECT_EQ(s.learning.temperature, 0.6);
  EXPECT_EQ(s.stages.rft.epochs, 20U);
  EXPECT_EQ(s.stages.rft.trajectories_per_step, 2U);
  EXPECT_EQ(s.stages.critic.max_passes, 5U);
  EXPECT_EQ(s.learning.lambda_policy, 1.0);
  EXPECT_EQ(settings_problem(s), "");
  EXPECT_EQ(settings_problem(preset_settings(Preset::cluster)), "");
}

TEST(Settings, ProblemsNameFieldAndRemedy) {
  auto s = preset_settings(Preset::one_machine);
  s.learning.batch = 15;
  EXPECT_THAT(settings_problem(s), HasSubstr("learning.batch: must be a multiple"));
  s.learning.batch = 16;
  s.stages.collect.enabled = false;
  EXPECT_THAT(settings_problem(s), HasSubstr("stages.rft: needs stages.collect"));
}

TEST(Schedule, WarmsUpThenStaysOrFallsAsACosine) {
  EXPECT_DOUBLE_EQ(warmup_constant(1.0, 0, 5), 0.2);
  EXPECT_DOUBLE_EQ(warmup_constant(1.0, 4, 5), 1.0);
  EXPECT_DOUBLE_EQ(warmup_constant(1.0, 99, 5), 1.0);
  EXPECT_DOUBLE_EQ(warmup_constant(1.0, 0, 1), 1.0);
  EXPECT_DOUBLE_EQ(warmup_cosine(2.0, 1, 1, 11), 2.0);
  EXPECT_NEAR(warmup_cosine(2.0, 6, 1, 11), 1.0, 1e-12);
  EXPECT_NEAR(warmup_cosine(2.0, 11, 1, 11), 0.0, 1e-12);
}

TEST(Shuffle, IsAPermutationThatDependsOnSeedStageAndEpochOnly) {
  const auto a = shuffled(50, 1, Stage::rft, 0);
  auto sorted = a;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::size_t> all(50);
  std::iota(all.begin(), all.end(), std::size_t{0});
  EXPECT_EQ(sorted, all);
  EXPECT_EQ(a, shuffled(50, 1, Stage::rft, 0));
  EXPECT_NE(a, shuffled(50, 1, Stage::rft, 1));
  EXPECT_NE(a, shuffled(50, 1, Stage::critic, 0));
  EXPECT_NE(a, shuffled(50, 2, Stage::rft, 0));
}

TEST(Packing, IsFirstFitDecreasingWithTiesByName) {
  const std::vector<PackItem> items{{"b", 5}, {"a", 5}, {"c", 7}, {"d", 3}};
  EXPECT_THAT(pack(items, 10), ElementsAre(ElementsAre(2, 3), ElementsAre(1, 0)));
}

TEST(Packing, ATrajectoryAboveTheBudgetRaisesIt) {
  const std::vector<PackItem> items{{"a", 30}, {"b", 12}, {"c", 11}};
  EXPECT_THAT(pack(items, 10), ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
  EXPECT_THAT(pack({}, 10), IsEmpty());
}

}  // namespace
}  // namespace swage::learner
