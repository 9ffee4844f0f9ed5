#include "common/k8s/election.hpp"

#include <gmock/gmock.h>

#include "common/k8s/event_series.hpp"
#include "common/k8s/work_queue.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/task_runner.hpp"

namespace swage::k8s {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart{std::chrono::hours(1000)};

/// A Lease with compare-and-swap, in memory.
struct FakeLease {
  std::optional<LeaseRecord> record;
  int version = 0;
  bool write(const Election::Write& write) {
    if (write.create ? record.has_value()
                     : !record || record->resource_version != write.record.resource_version)
      return false;
    record = write.record;
    record->resource_version = std::to_string(++version);
    return true;
  }
};

class ElectionTest : public ::testing::Test {
 protected:
  /// One round as the loop makes it: read when asked to, write when told to.
  bool round(Election& election) {
    if (election.must_read()) election.observed(lease.record, now);
    const auto write = election.next(now);
    if (!write) return false;
    if (!lease.write(*write)) {
      election.write_failed();
      return false;
    }
    election.written(*lease.record, now, now);
    return true;
  }
  FakeLease lease;
  TimePoint now = kStart;
  ElectionTimes times;
  Election a{"a", "addr-a", times}, b{"b", "addr-b", times};
};

TEST_F(ElectionTest, TheFirstToCreateTheLeaseLeadsAndTheOtherStandsBy) {
  a.observed(std::nullopt, now);
  b.observed(std::nullopt, now);
  EXPECT_TRUE(round(a));
  EXPECT_FALSE(round(b));  // both saw no Lease: the second create is refused
  EXPECT_EQ(a.state(now), Election::State::leading);
  EXPECT_EQ(a.epoch(), 1U);
  round(b);
  EXPECT_EQ(b.state(now), Election::State::standby);
  EXPECT_EQ(b.record()->address, "addr-a");
}

TEST_F(ElectionTest, ARenewedLeaseIsNeverTakenAndASilentOneIsAfterItsDuration) {
  round(a);
  b.observed(lease.record, now);
  for (int i = 0; i < 20; ++i) {
    now += 2s;
    ASSERT_TRUE(round(a));
    b.observed(lease.record, now);
    ASSERT_FALSE(round(b));
  }
  now += 10s - 1ns;
  EXPECT_FALSE(round(b));
  now += 1ns;
  EXPECT_TRUE(round(b));
  EXPECT_EQ(b.epoch(), 2U);
  EXPECT_EQ(lease.record->transitions, 1);
}

TEST_F(ElectionTest, ALeaderIsOverBeforeAnotherMayWin) {
  round(a);
  b.observed(lease.record, now);
  const auto over = a.valid_until();
  EXPECT_EQ(over, now + 6s);
  EXPECT_EQ(a.state(over - 1ns), Election::State::leading);
  EXPECT_EQ(a.state(over), Election::State::lost);
  now = over;
  EXPECT_FALSE(round(b));
  EXPECT_FALSE(a.next(now).has_value());
  lease.record->holder = "";  // even when it could win again: lost is for ever
  a.observed(lease.record, now);
  EXPECT_EQ(a.state(now), Election::State::lost);
}

TEST_F(ElectionTest, ASlowRenewalStretchesNothing) {
  round(a);
  now += 2s;
  const auto write = a.next(now);
  ASSERT_TRUE(write && lease.write(*write));
  a.written(*lease.record, now, now + 2s);
  EXPECT_EQ(a.valid_until(), now + 6s);
}

TEST_F(ElectionTest, ALostAnswerIsFoundOutByReading) {
  round(a);
  now += 2s;
  const auto write = a.next(now);
  ASSERT_TRUE(lease.write(*write));
  a.write_failed();  // applied, but unanswered
  EXPECT_FALSE(a.next(now).has_value());
  EXPECT_TRUE(round(a));
  EXPECT_EQ(a.state(now), Election::State::leading);
}

TEST_F(ElectionTest, ALeaseThatAnotherHoldsOrThatIsDeletedIsLostAtOnce) {
  round(a);
  auto stolen = *lease.record;
  stolen.holder = "b";
  stolen.resource_version = "9";
  a.observed(stolen, now);
  EXPECT_EQ(a.state(now), Election::State::lost);
  FakeLease second;
  lease = second;
  round(b);
  b.observed(std::nullopt, now);
  EXPECT_EQ(b.state(now), Election::State::lost);
}

TEST_F(ElectionTest, AGivenUpLeaseIsTakenAtOnceAndTheEpochStillRises) {
  round(a);
  b.observed(lease.record, now);
  ASSERT_TRUE(lease.write(*a.resign()));
  EXPECT_EQ(a.state(now), Election::State::lost);
  b.observed(lease.record, now);
  EXPECT_TRUE(round(b));
  EXPECT_EQ(b.epoch(), 2U);
}

TEST_F(ElectionTest, AnOlderStateFromTheWatchChangesNothing) {
  round(a);
  const auto first = lease.record;
  now += 2s;
  round(a);
  a.observed(first, now);
  EXPECT_EQ(a.record()->resource_version, "2");
}

TEST(LeaseObject, ItIsReadAsItWasWrittenAndHostileOnesAreEmpty) {
  const LeaseRecord record{"me", "1.2.3.4:7", 5, 3, "17"};
  const auto object = lease_object(record, "ns", "n", {}, "t0", "t1");
  const auto read = lease_record(object);
  EXPECT_EQ(read.holder, "me");
  EXPECT_EQ(read.address, "1.2.3.4:7");
  EXPECT_EQ(read.epoch, 5U);
  EXPECT_EQ(read.transitions, 3);
  EXPECT_EQ(read.resource_version, "17");
  EXPECT_EQ(lease_record(Json::parse(R"({"spec":{"holderIdentity":1}})")).holder, "");
  EXPECT_EQ(lease_record(Json::parse("[]")).epoch, 0U);
}

TEST(WorkQueueCoreTest, AKeyIsInTheQueueOnceAndComesAgainWhenAddedDuringItsWork) {
  WorkQueueCore queue;
  queue.add("a");
  queue.add("a");
  queue.add("b");
  EXPECT_EQ(queue.take(kStart), "a");
  queue.add("a");
  EXPECT_EQ(queue.take(kStart), "b");
  EXPECT_EQ(queue.take(kStart), std::nullopt);  // a is still worked on
  queue.done("a");
  EXPECT_EQ(queue.take(kStart), "a");
  queue.done("a");
  queue.done("b");
  EXPECT_EQ(queue.size(), 0U);
}

TEST(WorkQueueCoreTest, AFailingKeyWaitsLongerEachTimeUntilItIsDone) {
  WorkQueueCore queue;
  auto now = kStart;
  const auto fails_with = [&queue, &now](Duration wait) {
    EXPECT_EQ(queue.take(now), "a");
    queue.failed("a", now);
    EXPECT_EQ(queue.next_due(), now + wait);
    EXPECT_EQ(queue.take(now + wait - 1ns), std::nullopt);
    now += wait;
  };
  queue.add("a");
  for (Duration wait = 5ms; wait < 1000s; wait *= 2) fails_with(wait);
  for (int i = 0; i < 3; ++i) fails_with(1000s);
  queue.take(now);
  queue.done("a");
  queue.add("a");
  fails_with(5ms);
}

TEST(WorkQueueCoreTest, AllFailuresTogetherAreSpreadToTenPerSecond) {
  WorkQueueCore queue;
  for (int i = 0; i < 120; ++i) {
    const auto key = std::to_string(i);
    queue.add(key);
    queue.take(kStart);
    queue.failed(key, kStart);
  }
  int soon = 0;
  while (const auto key = queue.take(kStart + 5ms)) {
    ++soon;
    queue.done(*key);
  }
  EXPECT_EQ(soon, 100);
  while (const auto key = queue.take(kStart + 1s + 5ms)) {
    ++soon;
    queue.done(*key);
  }
  EXPECT_NEAR(soon, 110, 1);
}

TEST(WorkQueueTest, APopWaitsForAKeyForATimeOrForTheEnd) {
  test::TaskRunner run;
  test::FakeClock clock;
  StopSource stop;
  WorkQueue queue(run.executor(), clock);
  const auto first = run.start(queue.pop(stop));
  EXPECT_FALSE(first->ended);
  queue.add("a");
  run.poll();
  EXPECT_EQ(first->value(), "a");
  queue.add_after("later", 10s);
  const auto second = run.start(queue.pop(stop));
  queue.add_after("sooner", 1s);
  run.poll();
  EXPECT_FALSE(second->ended);
  clock.advance(1s);
  run.poll();
  ASSERT_TRUE(second->ended);
  EXPECT_EQ(second->value(), "sooner");
  const auto third = run.start(queue.pop(stop));
  stop.request(StopReason::requested);
  run.poll();
  EXPECT_EQ(third->value(), std::nullopt);
}

class EventSeriesTest : public ::testing::Test {
 protected:
  std::optional<EventSeries::Write> add(const std::string& uid, const std::string& reason,
                                        TimePoint now) {
    return series.add({{"v1", "Pod", "ns", "p", uid}, reason, "text", true}, "e" + uid + reason,
                      now);
  }
  EventSeries series;
};

TEST_F(EventSeriesTest, RepetitionsRaiseOneCountWrittenOnceInTenSeconds) {
  const auto first = add("u", "R", kStart);
  ASSERT_TRUE(first && first->create);
  for (int i = 1; i <= 9; ++i) EXPECT_FALSE(add("u", "R", kStart + i * 1s).has_value());
  EXPECT_EQ(series.next_due(), kStart + 10s);
  EXPECT_FALSE(series.due(kStart + 10s - 1ns).has_value());
  const auto late = series.due(kStart + 10s);
  ASSERT_TRUE(late);
  EXPECT_FALSE(late->create);
  EXPECT_EQ(late->count, 10);
  EXPECT_EQ(late->name, first->name);
  EXPECT_FALSE(series.next_due().has_value());
}

TEST_F(EventSeriesTest, AnotherObjectOrReasonAndALongPauseBeginASeries) {
  EXPECT_TRUE(add("u", "R", kStart)->create);
  EXPECT_TRUE(add("v", "R", kStart)->create);
  EXPECT_TRUE(add("u", "S", kStart)->create);
  EXPECT_FALSE(add("u", "R", kStart + 6min)->create);
  EXPECT_TRUE(add("u", "R", kStart + 12min + 1ns)->create);
}

TEST_F(EventSeriesTest, ALongNoteIsCutBetweenCharacters) {
  std::string text(1023, 'x');
  text += "é and more";
  const EventSeries::Write write{"n", true, 1, {{"v1", "Pod", "ns", "p", "u"}, "R", text, false}};
  const auto note = event_object(write, "c", "i", "t")["note"].get<std::string>();
  EXPECT_EQ(note, std::string(1023, 'x'));
}

}  // namespace
}  // namespace swage::k8s
