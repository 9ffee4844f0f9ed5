#include <gtest/gtest.h>

#include "gpu_pool/worker/core/evaluation_book.hpp"
#include "gpu_pool/worker/core/fence.hpp"

namespace swage::worker {
namespace {

using namespace std::chrono_literals;
using lease::RequestId;
using Answer = EvaluationBook::Answer;

constexpr TimePoint kNow{std::chrono::hours(1)};

TEST(Fence, AnEvaluationDelayedPastItsLeaseIsRefusedEvenByAnIdleGpu) {
  Fence fence;
  fence.registered({3, 7});  // epoch 3, seven grants so far
  EXPECT_EQ(fence.evaluate({3, 8}, RequestId("a")), Fence::Answer::start);
  EXPECT_EQ(fence.evaluate({3, 8}, RequestId("a")), Fence::Answer::attach);  // the answer was lost
  EXPECT_EQ(fence.evaluate({3, 8}, RequestId("b")), Fence::Answer::duplicate);
  EXPECT_EQ(fence.evaluate({3, 7}, RequestId("c")), Fence::Answer::stale);

  fence.clear({3, 9});  // lease 9 ran out before its holder's call arrived
  EXPECT_EQ(fence.evaluate({3, 9}, RequestId("d")), Fence::Answer::stale);
}

TEST(Fence, AHigherEpochBeatsEveryCounterOfALowerOne) {
  Fence fence;
  EXPECT_EQ(fence.evaluate({3, 900}, RequestId("a")), Fence::Answer::start);
  EXPECT_EQ(fence.evaluate({4, 1}, RequestId("b")), Fence::Answer::start);
  EXPECT_EQ(fence.evaluate({3, 901}, RequestId("c")), Fence::Answer::stale);
}

TEST(Fence, NeitherClearingNorRegisteringLowersTheFloor) {
  Fence fence;
  EXPECT_EQ(fence.evaluate({3, 9}, RequestId("a")), Fence::Answer::start);
  fence.clear({3, 2});
  fence.registered({2, 50});
  EXPECT_EQ(fence.floor(), (lease::Token{3, 9}));
}

TEST(EvaluationBook, AnEvaluationIsOverdueWhenItsLeaseRunsOutAndNotJustBefore) {
  EvaluationBook book;
  EXPECT_EQ(book.accept({1, 1}, RequestId("a"), 12s, kNow), Answer::start);
  EXPECT_EQ(book.next_check(), kNow + 12s);
  EXPECT_FALSE(book.overdue(kNow + 12s - 1ns).has_value());
  EXPECT_EQ(book.overdue(kNow + 12s), EvaluationBook::Overdue::lease);
}

TEST(EvaluationBook, ARenewalMovesTheEndAndNeverBack) {
  EvaluationBook book;
  book.accept({1, 1}, RequestId("a"), 12s, kNow);
  book.extend({1, 1}, 12s, kNow + 4s);
  EXPECT_EQ(book.next_check(), kNow + 16s);
  book.extend({1, 1}, 1s, kNow + 5s);  // an older message that comes late
  EXPECT_EQ(book.next_check(), kNow + 16s);
  book.extend({1, 2}, 60s, kNow + 5s);  // of another lease
  EXPECT_EQ(book.next_check(), kNow + 16s);
}

TEST(EvaluationBook, JudgingEndsAtItsLimitHoweverLongTheLease) {
  EvaluationBook book;
  book.accept({1, 1}, RequestId("a"), 400s, kNow);
  book.judging(60s, kNow);
  EXPECT_FALSE(book.overdue(kNow + 60s - 1ns).has_value());
  EXPECT_EQ(book.overdue(kNow + 60s), EvaluationBook::Overdue::time_limit);
}

TEST(EvaluationBook, AnEndingIsKeptTenMinutesForTheSameCall) {
  EvaluationBook book;
  book.accept({1, 1}, RequestId("a"), 12s, kNow);
  book.ended(kNow + 1s);
  EXPECT_FALSE(book.open());
  EXPECT_EQ(book.accept({1, 1}, RequestId("a"), 12s, kNow + 1s + 10min), Answer::attach);
  EXPECT_EQ(book.accept({1, 1}, RequestId("a"), 12s, kNow + 1s + 10min + 1ns), Answer::stale);
}

TEST(EvaluationBook, ClearKillsWhatIsOpenUnderThatTokenAndNothingNewer) {
  EvaluationBook book;
  book.accept({1, 5}, RequestId("a"), 12s, kNow);
  EXPECT_FALSE(book.clear({1, 4}));
  EXPECT_TRUE(book.clear({1, 5}));
  book.ended(kNow);
  EXPECT_FALSE(book.clear({1, 6}));
  EXPECT_EQ(book.accept({1, 6}, RequestId("b"), 12s, kNow), Answer::stale);
}

TEST(EvaluationBook, RegisteringRaisesTheFloorUnlessTheRunningWorkIsHeldAgain) {
  EvaluationBook book;
  book.accept({1, 5}, RequestId("a"), 12s, kNow);
  EXPECT_FALSE(book.registered({2, 0}, true, lease::Token{1, 5}));
  EXPECT_EQ(book.floor(), (lease::Token{1, 5}));
  EXPECT_TRUE(book.registered({2, 0}, false, lease::Token{1, 5}));
  EXPECT_EQ(book.floor(), (lease::Token{2, 0}));
}

TEST(EvaluationBook, WorkThatCameWhileRegisteringWasUnderWayGoesOn) {
  EvaluationBook book;
  book.accept({2, 3}, RequestId("a"), 12s, kNow);  // granted by that very registration
  EXPECT_FALSE(book.registered({2, 2}, false, std::nullopt));
  EXPECT_TRUE(book.open());
}

TEST(EvaluationBook, ADrainingWorkerLetsOnlyTheSameCallIn) {
  EvaluationBook book;
  book.accept({1, 1}, RequestId("a"), 12s, kNow);
  book.drain();
  EXPECT_EQ(book.accept({1, 1}, RequestId("a"), 12s, kNow), Answer::attach);
  EXPECT_EQ(book.accept({1, 2}, RequestId("b"), 12s, kNow), Answer::draining);
}

}  // namespace
}  // namespace swage::worker
