#include "controller/core/run_totals.hpp"

#include <gtest/gtest.h>

#include "controller/core/event_log.hpp"

namespace swage::controller {
namespace {

TEST(RunTotals, TheWeakestIsolationAndTrustStand) {
  RunTotals totals;
  RolloutAccount account;
  account.isolation = "full";
  account.trust = "full";
  account.evaluations = {{"ok", 2}, {"mismatch", 1}};
  totals.add(account);
  EXPECT_EQ(totals.isolation, "full");
  account.isolation = "reduced";
  account.trust = "";
  totals.add(account);
  EXPECT_EQ(totals.isolation, "reduced");
  EXPECT_EQ(totals.trust, "full");
  EXPECT_EQ(totals.evaluations, 6U);
  EXPECT_EQ(totals.verdicts["ok"], 4U);
}

TEST(RunTotals, TheMeanLengthIsOfTheLast32TrajectoriesDelivered) {
  RunTotals totals;
  RolloutAccount account;
  account.tokens = 900;
  totals.add(account);  // lost: its length says nothing
  EXPECT_FALSE(totals.length_mean());
  account.end.delivered = true;
  totals.add(account);
  EXPECT_EQ(totals.length_mean(), 900);
  account.tokens = 300;
  for (int i = 0; i < 31; ++i) totals.add(account);
  EXPECT_EQ(totals.length_mean(), (900.0 + 31 * 300.0) / 32);
  totals.add(account);
  EXPECT_EQ(totals.length_mean(), 300);
}

TEST(RunTotals, StagesFollowOneAnotherAndKeepTheirSteps) {
  RunTotals totals;
  LearnerStatus status;
  status.stage = Stage::collect;
  totals.enter(status, 1000);
  status.stage = Stage::agentic;
  totals.enter(status, 3000);
  status.step = 8;
  totals.enter(status, 4000);
  status.stage = Stage::done;
  totals.enter(status, 5000);
  ASSERT_EQ(totals.stages.size(), 2U);
  EXPECT_EQ(totals.stages[0].ended_unix_ms, 3000);
  EXPECT_EQ(totals.stages[1].ended_unix_ms, 5000);
  EXPECT_EQ(totals.stages[1].steps, 8U);
}

TEST(RunTotals, RefusedDuplicatesAreCountedOnAfterALearnerWasRestarted) {
  RunTotals totals;
  LearnerStatus status;
  for (const std::uint64_t told : {0U, 2U, 2U, 3U}) {
    status.duplicates = told;
    totals.enter(status, 1000);
  }
  EXPECT_EQ(totals.duplicates_refused, 3U);
  for (const std::uint64_t told : {1U, 1U, 4U}) {  // another process
    status.duplicates = told;
    totals.enter(status, 2000);
  }
  EXPECT_EQ(totals.duplicates_refused, 7U);
}

TEST(EventLog, AReaderGoesOnFromItsCursorAndLosesOnlyWhatIsGone) {
  EventLog log(10, 3);
  for (int i = 0; i < 5; ++i) log.add("step", i, std::to_string(i));
  EXPECT_EQ(log.newest(), 14U);
  const auto all = log.after(0, 10);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all.front().id, 12U);
  const auto rest = log.after(13, 10);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest.front().data, "4");
  EXPECT_TRUE(log.after(14, 10).empty());
}

}  // namespace
}  // namespace swage::controller
