#include "learner/core/ledger.hpp"

#include <gmock/gmock.h>

#include "learner/core/log_frame.hpp"
#include "tests/unit/learner/sample.hpp"

namespace swage::learner {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointee;
using ::testing::SizeIs;

const StageSlot kAgentic{Stage::agentic, 0};

LedgerEntry entry(std::uint64_t seq, const std::string& id, std::uint64_t group,
                  std::uint64_t version = 1) {
  auto t = sample_trajectory(id);
  t.group_id = group;
  for (auto& span : t.spans) span.version = version;
  return ledger_entry(t, Use::ppo, seq);
}

TEST(Ledger, OneTrajectoryOccupiesAnId) {
  Ledger ledger;
  ledger.add(entry(1, "a", 0));
  EXPECT_TRUE(ledger.has("a"));
  EXPECT_EQ(ledger.find("a")->reward, 2.0);
  EXPECT_EQ(ledger.accepted(kAgentic), 1U);
  EXPECT_THAT(ledger.accepted_ids(), ElementsAre("a"));
}

TEST(Ledger, AnInfrastructureFailureIsKeptButOccupiesNothing) {
  Ledger ledger;
  auto lost = entry(1, "a", 0);
  lost.infrastructure = true;
  ledger.add(lost);
  EXPECT_FALSE(ledger.has("a"));
  EXPECT_THAT(ledger.entries(), SizeIs(1));
  EXPECT_THAT(ledger.ready(kAgentic, 0), IsEmpty());
  EXPECT_THAT(ledger.accepted_ids(), IsEmpty());
  EXPECT_EQ(ledger.accepted(), 0U);
  ledger.add(entry(2, "a", 0));
  EXPECT_EQ(ledger.accepted(), 1U);
  EXPECT_EQ(ledger.find("a")->seq, 2U);
  EXPECT_THAT(ledger.accepted_ids(), ElementsAre("a"));
}

TEST(Ledger, ReadyIsWhatNoEarlierStepConsumed) {
  Ledger ledger;
  for (const char* id : {"a", "b", "c", "d"}) ledger.add(entry(1, id, 0));
  ledger.add(BatchRecord{kAgentic, 0, {"a", "b"}});
  ledger.add(BatchRecord{kAgentic, 1, {"c"}});
  EXPECT_THAT(ledger.ready(kAgentic, 0), SizeIs(4));  // a resume at step 0: all of it again
  EXPECT_THAT(ledger.ready(kAgentic, 1), SizeIs(2));
  EXPECT_THAT(ledger.ready(kAgentic, 2), SizeIs(1));
  EXPECT_THAT(ledger.logged_batch(kAgentic, 1), Pointee(ElementsAre("c")));
  EXPECT_EQ(ledger.logged_batch(kAgentic, 2), nullptr);
}

TEST(Ledger, StartIsTheStepOfTheLowestVersionInThisStage) {
  Ledger ledger;
  ledger.add(VersionRecord{1, {Stage::rft, 0}, 40});
  ledger.add(VersionRecord{2, kAgentic, 1});
  ledger.add(VersionRecord{3, kAgentic, 2});
  auto mixed = sample_trajectory("m");
  mixed.spans[0].version = 2;
  mixed.spans[1].version = 3;
  EXPECT_EQ(ledger.start_step(ledger_entry(mixed, Use::ppo, 1), kAgentic), 1U);
  EXPECT_EQ(ledger.start_step(entry(2, "old", 0, 1), kAgentic), 0U);
  EXPECT_EQ(ledger.newest_version(), 3U);
}

TEST(Ledger, ARollbackTakesBackVersionsAndLaterBatches) {
  Ledger ledger;
  ledger.add(entry(1, "a", 0, 1));
  ledger.add(entry(2, "b", 0, 2));
  ledger.add(BatchRecord{kAgentic, 0, {"x"}});
  ledger.add(BatchRecord{kAgentic, 1, {"a"}});
  ledger.add(AbandonRecord{kAgentic, 1, {2}});
  EXPECT_NE(ledger.logged_batch(kAgentic, 0), nullptr);
  EXPECT_EQ(ledger.logged_batch(kAgentic, 1), nullptr);
  const auto ready = ledger.ready(kAgentic, 1);
  ASSERT_THAT(ready, SizeIs(1));  // b is of an abandoned version
  EXPECT_EQ(ready[0].rollout_id, "a");
}

TEST(Ledger, NextGroupIsOneAboveTheHighest) {
  Ledger ledger;
  EXPECT_EQ(ledger.next_group(kAgentic), 0U);
  ledger.add(entry(1, "a", 4));
  ledger.add(entry(2, "b", 2));
  EXPECT_EQ(ledger.next_group(kAgentic), 5U);
}

TEST(LogFrame, IsReadBackAndNumbered) {
  std::string bytes;
  append_frame(bytes, 5, FrameType::trajectory, "first");
  append_frame(bytes, 6, FrameType::batch, "");
  const auto scan = scan_segment(bytes, 5);
  ASSERT_THAT(scan.frames, SizeIs(2));
  EXPECT_FALSE(scan.broken);
  EXPECT_EQ(scan.frames[1].type, FrameType::batch);
  EXPECT_EQ(frame_payload(bytes), "first");
  EXPECT_EQ(frame_payload(std::string_view(bytes).substr(scan.frames[1].offset)), "");
}

TEST(LogFrame, CutAtAnyByteLeavesTheWholeFramesBefore) {
  std::string bytes;
  append_frame(bytes, 1, FrameType::trajectory, "first");
  const auto one = bytes.size();
  append_frame(bytes, 2, FrameType::version, "second");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto scan = scan_segment(std::string_view(bytes).substr(0, length), 1);
    EXPECT_EQ(scan.frames.size(), length >= one ? 1U : 0U);
    EXPECT_EQ(scan.broken, length != 0 && length != one);
    EXPECT_FALSE(scan.frames_beyond);
  }
}

TEST(LogFrame, AFlippedBitIsSeenAndKnownFromATornTail) {
  std::string bytes;
  append_frame(bytes, 1, FrameType::trajectory, "first");
  const auto one = bytes.size();
  append_frame(bytes, 2, FrameType::version, "second");
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    const auto scan = scan_segment(damaged, 1);
    EXPECT_TRUE(scan.broken) << at;
    EXPECT_EQ(scan.frames_beyond, at < one) << at;
  }
}

TEST(LogFrame, NumbersMustFollowOneAnother) {
  std::string bytes;
  append_frame(bytes, 1, FrameType::trajectory, "first");
  append_frame(bytes, 3, FrameType::trajectory, "third");
  EXPECT_TRUE(scan_segment(bytes, 1).frames_beyond);
  EXPECT_TRUE(scan_segment(bytes, 2).broken);
}

TEST(LogFrame, SegmentNamesAreTheirFirstNumber) {
  EXPECT_EQ(segment_first(segment_name(42)), 42U);
  EXPECT_EQ(segment_first("seg-42"), std::nullopt);
  EXPECT_EQ(segment_first("seg-0000000000000000004x"), std::nullopt);
}

}  // namespace
}  // namespace swage::learner
