#include "controller/core/curriculum.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace swage::controller {
namespace {

Curriculum eight_tasks(std::int64_t seed = 1) {
  return {seed, {{{0, 1, 2, 3, 4, 5, 6, 7}, 1}}, std::vector<std::uint32_t>(8, 8)};
}

TEST(Curriculum, SixtyFourCollectedRolloutsPlayEveryCardOfEveryTaskOnce) {
  const auto curriculum = eight_tasks();
  std::set<std::pair<std::size_t, std::uint32_t>> seen;
  for (std::uint64_t group = 0; group < 64; ++group) {
    const auto dealt = curriculum.deal({Stage::collect, group, 0}, 1);
    EXPECT_EQ(dealt.task, group % 8);
    EXPECT_LT(dealt.card, 8U);
    seen.emplace(dealt.task, dealt.card);
  }
  EXPECT_EQ(seen.size(), 64U);
}

TEST(Curriculum, EachTaskHasAShuffleOfItsOwnThatFollowsTheSeed) {
  std::set<std::vector<std::uint32_t>> orders;
  for (const std::int64_t seed : {1, 2}) {
    for (std::uint64_t task = 0; task < 8; ++task) {
      std::vector<std::uint32_t> order;
      for (std::uint64_t round = 0; round < 8; ++round)
        order.push_back(eight_tasks(seed).deal({Stage::collect, round * 8 + task, 0}, 1).card);
      orders.insert(order);
    }
  }
  EXPECT_EQ(orders.size(), 16U);  // 40320 orders: equal ones are unlikely, and seeds are fixed
}

TEST(Curriculum, EachPpoStepCoversAllTasksAndAGroupSharesItsTask) {
  const auto curriculum = eight_tasks();
  for (std::uint64_t step = 0; step < 5; ++step) {
    std::set<std::size_t> tasks;
    for (std::uint64_t group = step * 8; group < step * 8 + 8; ++group) {
      const auto first = curriculum.deal({Stage::agentic, group, 0}, 2);
      EXPECT_EQ(first, curriculum.deal({Stage::agentic, group, 1}, 2));
      tasks.insert(first.task);
    }
    EXPECT_EQ(tasks.size(), 8U);
  }
}

TEST(Curriculum, AnEvaluationSpreadsItsRolloutsOverAllTasks) {
  std::map<std::size_t, int> counts;
  for (std::uint64_t group = 0; group < 64; ++group)
    ++counts[eight_tasks().deal({Stage::eval1, group, 0}, 1).task];
  for (const auto& [task, count] : counts) EXPECT_EQ(count, 8) << task;
  EXPECT_EQ(counts.size(), 8U);
}

TEST(Curriculum, SetsTakeTurnsByWeightAndAWeightOfZeroIsNeverDealt) {
  const Curriculum curriculum(1, {{{0}, 3}, {{1, 2}, 1}, {{3}, 0}}, {0, 0, 0, 0});
  std::map<std::size_t, int> counts;
  for (std::uint64_t group = 0; group < 80; ++group)
    ++counts[curriculum.deal({Stage::agentic, group, 0}, 1).task];
  EXPECT_EQ(counts[0], 60);
  EXPECT_EQ(counts[1], 10);
  EXPECT_EQ(counts[2], 10);
  EXPECT_EQ(counts.count(3), 0U);
}

TEST(RolloutId, SaysStageGroupAndMemberAndIsReadBack) {
  const std::string uid = "0123456789abcdef0123456789abcdef";
  const RolloutName name{Stage::eval2, 17, 3};
  const auto id = make_rollout_id(uid, name);
  EXPECT_EQ(id, "01234567-eval2-17-3");
  EXPECT_EQ(parse_rollout_id(uid, id), name);
  EXPECT_EQ(parse_rollout_id("ffffffffffff", id), std::nullopt);
  for (const auto* bad : {"01234567-eval2-17", "01234567-nothing-17-3", "01234567-eval2--3",
                          "01234567-eval2-017-3", "01234567-eval2-17-x", "01234567-eval2-17-3-4"})
    EXPECT_EQ(parse_rollout_id(uid, bad), std::nullopt) << bad;
}

TEST(RolloutId, SeedsDifferByEveryPartAndRepeatForAnAttempt) {
  std::set<std::uint64_t> seeds;
  for (const std::int64_t run : {1, 2})
    for (const auto stage : {Stage::collect, Stage::agentic})
      for (std::uint64_t group = 0; group < 10; ++group)
        for (std::uint32_t member = 0; member < 4; ++member)
          seeds.insert(rollout_seed(run, {stage, group, member}));
  EXPECT_EQ(seeds.size(), 160U);
  EXPECT_EQ(rollout_seed(1, {Stage::agentic, 5, 1}), rollout_seed(1, {Stage::agentic, 5, 1}));
}

}  // namespace
}  // namespace swage::controller
