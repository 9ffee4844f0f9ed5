#include "learner/core/straggler.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace swage::learner {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Duration kWait = std::chrono::minutes(30);
constexpr Duration kMinute = std::chrono::minutes(1);

/// Trajectories of group-member pairs, all begun at `start`.
std::vector<ReadyTrajectory> members(
    const std::vector<std::pair<std::uint64_t, std::uint32_t>>& who, std::uint64_t start = 0) {
  std::vector<ReadyTrajectory> out;
  for (const auto& [group, member] : who)
    out.push_back({std::to_string(group) + "-" + std::to_string(member), group, member, start});
  return out;
}

TEST(Blockage, WhereThereAreTooFewItIsEveryGroupThatIsKnownAndNotComplete) {
  const BatchQuestion q{.batch = 6, .group_size = 2};
  const auto ready = members({{0, 0}, {0, 1}, {1, 0}, {3, 1}});
  const auto seen = blockage(ready, {}, 4, q);
  EXPECT_FALSE(seen.held);
  EXPECT_THAT(seen.groups, ElementsAre(1, 2, 3));
}

TEST(Blockage, ConsumedCompleteAndCancelledGroupsBlockNothing) {
  BatchQuestion q{.step = 1, .batch = 4, .group_size = 2};
  const std::vector<std::uint64_t> consumed{0, 1};
  const auto ready = members({{2, 0}, {2, 1}, {4, 0}});
  EXPECT_THAT(blockage(ready, consumed, 5, q).groups, ElementsAre(3, 4));
  q.cancelled = {3};
  EXPECT_THAT(blockage(ready, consumed, 5, q).groups, ElementsAre(4));
}

TEST(Blockage, ABatchThatCanBeTakenIsNotBlocked) {
  const BatchQuestion q{.batch = 2, .group_size = 2};
  EXPECT_THAT(blockage(members({{0, 0}, {1, 0}, {1, 1}}), {}, 2, q).groups, IsEmpty());
}

TEST(Blockage, UnderAHoldItIsTheOldestGroups) {
  // eta 1, step 2, batch 2: groups 0 and 1 may have begun at step 0, 2 and 3 at 0 or 1.
  BatchQuestion q{.step = 2, .batch = 2, .group_size = 1, .staleness = 1};
  const std::vector<std::uint64_t> consumed{0, 1};
  const auto ready = members({{6, 0}, {7, 0}}, 2);
  q.running_starts = presumed_running(ready, consumed, 8, q);
  const auto seen = blockage(ready, consumed, 8, q);
  EXPECT_TRUE(seen.held);
  EXPECT_THAT(seen.groups, ElementsAre(2, 3));
}

TEST(StragglerWatch, CancelsWhatHasBlockedForTheWholeWaitAndNotAMinuteSooner) {
  StragglerWatch watch(kWait);
  const TimePoint start{};
  EXPECT_EQ(watch.due(), std::nullopt);
  EXPECT_THAT(watch.observe({{3, 4}, false}, 10, start), IsEmpty());
  EXPECT_EQ(watch.due(), start + kWait);
  EXPECT_THAT(watch.observe({{3, 4}, false}, 10, start + kWait - kMinute), IsEmpty());
  EXPECT_THAT(watch.observe({{3, 4}, false}, 10, start + kWait), ElementsAre(3, 4));
  EXPECT_EQ(watch.due(), std::nullopt);
  EXPECT_THAT(watch.observe({{5}, false}, 10, start + kWait), IsEmpty());
}

TEST(StragglerWatch, WhileTrajectoriesComeTheOthersAreOnlySlow) {
  StragglerWatch watch(kWait);
  for (std::uint64_t i = 0; i < 20; ++i)
    EXPECT_THAT(watch.observe({{3}, false}, i, TimePoint{} + (kWait - kMinute) * i), IsEmpty());
}

TEST(StragglerWatch, UnderAHoldYoungerTrajectoriesDoNotHelpTheOldest) {
  StragglerWatch watch(kWait);
  EXPECT_THAT(watch.observe({{3}, true}, 10, TimePoint{}), IsEmpty());
  EXPECT_THAT(watch.observe({{3}, true}, 15, TimePoint{} + kWait / 2), IsEmpty());
  EXPECT_THAT(watch.observe({{3}, true}, 20, TimePoint{} + kWait), ElementsAre(3));
}

TEST(StragglerWatch, AnotherBlockageOrNoneBeginsANewWait) {
  StragglerWatch watch(kWait);
  watch.observe({{3}, true}, 1, TimePoint{});
  EXPECT_THAT(watch.observe({{}, true}, 1, TimePoint{} + kMinute), IsEmpty());
  EXPECT_THAT(watch.observe({{3}, true}, 1, TimePoint{} + kWait), IsEmpty());
  EXPECT_EQ(watch.due(), TimePoint{} + kWait + kWait);
  EXPECT_THAT(watch.observe({{4}, true}, 1, TimePoint{} + kWait + kWait), IsEmpty());
}

/// Groups of two by the rule of capacity; one member in twenty never ends. Returns the steps done
/// within `minutes`.
std::uint64_t steps_of(std::uint32_t eta, bool watched, std::uint64_t minutes) {
  constexpr std::uint32_t kBatch = 8, kSize = 2;
  std::vector<std::pair<std::uint64_t, ReadyTrajectory>> running;  // ends at
  std::vector<ReadyTrajectory> ready;
  std::vector<std::uint64_t> consumed, cancelled;
  std::uint64_t step = 0, planned = 0, started = 0, accepted = 0, next_group = 0;
  StragglerWatch watch(kWait);
  for (std::uint64_t now = 0; now < minutes; ++now) {
    for (; (eta + 1) * kBatch >= ready.size() + running.size() + kSize; ++planned)
      for (std::uint32_t m = 0; m < kSize; ++m) {
        const auto length = ++started % 20 == 7 ? ~0ULL - now : 1 + started % 5;
        auto t = members({{planned, m}}, step).front();
        running.emplace_back(now + length, std::move(t));
      }
    std::erase_if(running, [&](const auto& entry) {
      if (entry.first > now) return false;
      ready.push_back(entry.second);
      next_group = std::max(next_group, entry.second.group + 1);
      ++accepted;
      return true;
    });
    BatchQuestion q{step, kBatch, kSize, eta, {}, cancelled};
    q.running_starts = presumed_running(ready, consumed, next_group, q);
    if (const auto ids = select_batch(ready, q)) {
      const std::set<std::string> taken(ids->begin(), ids->end());
      for (const auto& t : ready)
        if (taken.contains(t.rollout_id) && t.member == 0) consumed.push_back(t.group);
      std::sort(consumed.begin(), consumed.end());
      std::erase_if(ready, [&](const auto& t) { return taken.contains(t.rollout_id); });
      ++step;
      watch = StragglerWatch(kWait);
      continue;
    }
    const auto late = watch.observe(blockage(ready, consumed, next_group, q), accepted,
                                    TimePoint{} + kMinute * now);
    if (!watched || late.empty()) continue;
    cancelled.insert(cancelled.end(), late.begin(), late.end());
    ready = without_groups(std::move(ready), late);
    std::erase_if(running, [&](const auto& entry) {
      return std::ranges::find(late, entry.second.group) != late.end();
    });
  }
  return step;
}

TEST(StragglerWatch, WithoutItARunHangsOnRolloutsThatNeverEndAndWithItNot) {
  for (const std::uint32_t eta : {0U, 1U, 4U}) {
    EXPECT_GE(steps_of(eta, true, 5'000), 60U) << eta;
    EXPECT_LT(steps_of(eta, false, 5'000), 12U) << eta;
  }
}

}  // namespace
}  // namespace swage::learner
