#include <gmock/gmock.h>

#include "gpu_pool/lease/app/lease_holder.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/machine_queue.hpp"
#include "tests/support/task_runner.hpp"

namespace swage::lease {
namespace {

using namespace std::chrono_literals;
using swage::test::FakeClock;
using swage::test::MachineHolder;
using swage::test::MachineQueue;
using swage::test::TaskRunner;

using Held = Result<std::unique_ptr<Lease>, HoldErrc>;

class HolderTest : public ::testing::Test {
 protected:
  HolderTest() {
    queue.install(1);
    run.poll();
  }
  void TearDown() override { shut_down(); }
  void shut_down() {
    const auto ended = run.start(holder.shut_down());
    for (int i = 0; i < 40 && !ended->ended; ++i) advance(100ms);
    ASSERT_TRUE(ended->ended);
  }
  void advance(Duration by) {
    clock.advance(by);
    run.poll();
  }
  /// Time in small steps, with the worker's heartbeats.
  void pass(Duration by) {
    for (Duration done{}; done < by; done += 500ms) {
      queue.at();
      std::ignore = queue.machine.heartbeat("g0", "boot");
      queue.deliver();
      advance(500ms);
    }
  }
  TaskRunner::Handle<Held> hold(const std::string& request) {
    HoldAsk ask;
    ask.request = RequestId(request);
    ask.run = RunUid("run");
    return run.start(holder.hold(ask, stop));
  }
  std::unique_ptr<Lease> held(const std::string& request) {
    return std::move(*hold(request)->value());
  }
  bool release(Lease& lease, ReleaseAs how = ReleaseAs::clear) {
    const auto released = run.start(lease.release(how));
    for (int i = 0; i < 200 && !released->ended; ++i) advance(100ms);
    return released->ended && released->value();
  }
  const RequestRecord* record(const std::string& request) const {
    const auto at = queue.machine.state().requests.find(request);
    return at == queue.machine.state().requests.end() ? nullptr : &at->second;
  }
  std::string gpu_state() const { return queue.machine.state().gpus.at("g0").state; }

  TaskRunner run;
  FakeClock clock;
  StopSource stop;
  MachineQueue queue{clock};
  MachineHolder end{queue, "c0"};
  HolderLoops holder{run.executor(), end, clock};
};

TEST_F(HolderTest, AnIdleGpuIsOursAtOnceAndGivenBack) {
  queue.add_gpu("g0");
  const auto lease = held("a");
  EXPECT_EQ(lease->address(), "unix:/g0");
  EXPECT_EQ(lease->usable_until(), clock.now() + 12s);
  EXPECT_TRUE(release(*lease));
  EXPECT_EQ(gpu_state(), "idle");
}

TEST_F(HolderTest, ALeaseIsRenewedEveryThirdOfItsUsableTime) {
  queue.add_gpu("g0");
  const auto lease = held("a");
  std::vector<TimePoint> told;
  lease->on_renewed([&](TimePoint until) { told.push_back(until); });
  pass(3500ms);
  EXPECT_TRUE(told.empty());
  pass(500ms);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0], clock.now() + 12s);
  pass(60s);
  EXPECT_EQ(told.size(), 16U);
  EXPECT_FALSE(lease->lost().stopping());
  release(*lease);
}

TEST_F(HolderTest, AWaitingRequestHearsOfItsGrantAndClaimsIt) {
  queue.add_gpu("g0");
  const auto first = held("a");
  const auto waiting = hold("b");
  EXPECT_FALSE(waiting->ended);
  EXPECT_TRUE(release(*first));
  run.poll();
  ASSERT_TRUE(waiting->ended);
  EXPECT_EQ(record("b")->state, RequestState::held);
  release(**waiting->value());
}

TEST_F(HolderTest, ALostMessageIsMadeGoodByPolling) {
  queue.add_gpu("g0");
  const auto first = held("a");
  const auto waiting = hold("b");
  queue.lose_mail = true;
  EXPECT_TRUE(release(*first));
  EXPECT_FALSE(waiting->ended);
  pass(8s);  // the grant lapses unclaimed after 3 s, comes again, and a poll tells of it
  ASSERT_TRUE(waiting->ended);
  release(**waiting->value());
}

TEST_F(HolderTest, AnUnansweredAcquireIsAskedAgainAndItsGrantClaimedBeforeUse) {
  queue.add_gpu("g0");
  queue.lose_answers = true;
  const auto waiting = hold("a");
  EXPECT_EQ(record("a")->state, RequestState::held);
  EXPECT_FALSE(waiting->ended);
  queue.lose_answers = false;
  pass(1s);
  ASSERT_TRUE(waiting->ended);
  EXPECT_EQ((*waiting->value())->token(), (Token{1, 1}));
  release(**waiting->value());
}

TEST_F(HolderTest, CutOffFromTheQueueItStopsBeforeTheGpuMayBeGivenAway) {
  queue.add_gpu("g0");
  const auto lease = held("a");
  const TimePoint taken = clock.now();
  queue.down = true;
  pass(11500ms);
  EXPECT_FALSE(lease->lost().stopping());
  pass(500ms);
  EXPECT_TRUE(lease->lost().stopping());
  EXPECT_EQ(lease->lost_because(), LeaseErrc::unanswered);
  EXPECT_EQ(clock.now(), taken + 12s);
  EXPECT_EQ(gpu_state(), "leased");  // not given away yet
}

TEST_F(HolderTest, ARestartedQueueThatForgotTheLeaseDoesNotEndItWhileTimeIsLeft) {
  queue.add_gpu("g0");
  const auto lease = held("a");
  const Token token = lease->token();
  queue.machine = Machine([this](const std::string& c) { return queue.listeners.contains(c); });
  queue.server = "server-2";
  pass(5s);
  EXPECT_FALSE(lease->lost().stopping());
  queue.install(2);
  Registration again;
  again.gpu = GpuId("g0");
  again.boot = BootId("boot");
  again.running =
      RunningLease{RequestId("a"), token, RunUid("run"), RequestClass::verify, ClientId("c0")};
  queue.at();
  std::ignore = queue.machine.register_gpu(again);
  pass(20s);
  EXPECT_FALSE(lease->lost().stopping());
  EXPECT_TRUE(release(*lease));
}

TEST_F(HolderTest, AWaitingRequestSurvivesARestartOfTheQueueWithItsAge) {
  queue.add_gpu("g0");
  const auto first = held("a");
  const auto waiting = hold("b");
  pass(3s);
  queue.machine = Machine([this](const std::string& c) { return queue.listeners.contains(c); });
  queue.server = "server-2";
  queue.install(2);
  holder.poll_now();  // the connection is there again
  pass(1s);
  ASSERT_NE(record("b"), nullptr);
  const auto since =
      std::chrono::duration_cast<std::chrono::microseconds>(clock.now().time_since_epoch()).count();
  EXPECT_GE(since - record("b")->enqueued, 3'500'000);
  queue.add_gpu("g0");
  run.poll();
  EXPECT_TRUE(waiting->ended);
  release(**waiting->value());
}

TEST_F(HolderTest, AQueueThatStaysAwayEndsAWaitAndOneThatAnswersDoesNot) {
  queue.add_gpu("g0");
  const auto first = held("a");
  const auto waiting = hold("b");
  pass(10min);
  EXPECT_FALSE(waiting->ended);
  queue.down = true;
  pass(30min);
  EXPECT_FALSE(waiting->ended);  // the queue may yet come back
  pass(31s + 5s);
  ASSERT_TRUE(waiting->ended);
  EXPECT_EQ(waiting->value().error(), HoldErrc::waited);
  queue.down = false;
}

TEST_F(HolderTest, ALeaseThatTheQueueTookBackIsLostAndSaysWhy) {
  queue.add_gpu("g0");
  const auto lease = held("a");
  queue.at();
  std::ignore = queue.machine.forget_gpu(1, "g0");
  pass(4s);
  EXPECT_TRUE(lease->lost().stopping());
  EXPECT_EQ(lease->lost_because(), LeaseErrc::requeued);
}

TEST_F(HolderTest, ARequestWhoseWorkerDiedIsHeldAgainByItsRankOrWithdrawn) {
  queue.add_gpu("g0");
  auto lease = held("a");
  queue.add_gpu("g0", "boot-2");  // the worker was restarted: "a" waits, and is granted again
  run.poll();
  EXPECT_EQ(lease->lost_because(), LeaseErrc::requeued);
  EXPECT_TRUE(release(*lease, ReleaseAs::retry));
  const auto again = held("a");
  EXPECT_GT(again->token(), lease->token());
  queue.add_gpu("g0", "boot-3");
  run.poll();
  EXPECT_TRUE(again->lost().stopping());
  EXPECT_FALSE(release(*again, ReleaseAs::unsure));
  EXPECT_EQ(record("a"), nullptr);
  EXPECT_EQ(gpu_state(), "idle");
}

TEST_F(HolderTest, AFullQueueHoldsTheWorkBack) {
  PoolSettings small;
  small.waiting_client = 1;
  queue.install(1, small);
  const auto first = hold("a");
  const auto second = hold("b");
  EXPECT_NE(record("a"), nullptr);
  EXPECT_EQ(record("b"), nullptr);
  queue.add_gpu("g0");
  run.poll();
  ASSERT_TRUE(first->ended);
  pass(2s);
  EXPECT_NE(record("b"), nullptr);  // it asked again
  EXPECT_TRUE(release(**first->value()));
  run.poll();
  ASSERT_TRUE(second->ended);
  release(**second->value());
}

TEST_F(HolderTest, StoppingTakesTheRequestOutOfTheQueue) {
  const auto waiting = hold("a");
  EXPECT_NE(record("a"), nullptr);
  stop.request(StopReason::requested);
  run.poll();
  ASSERT_TRUE(waiting->ended);
  EXPECT_EQ(waiting->value().error(), HoldErrc::cancelled);
  EXPECT_EQ(record("a"), nullptr);
}

TEST_F(HolderTest, StoppingUnderAnUnansweredGrantGivesTheGpuBack) {
  queue.add_gpu("g0");
  queue.lose_answers = true;
  const auto waiting = hold("a");
  queue.lose_answers = false;
  stop.request(StopReason::requested);
  run.poll();
  EXPECT_EQ(waiting->value().error(), HoldErrc::cancelled);
  EXPECT_EQ(gpu_state(), "idle");
}

TEST_F(HolderTest, AClosedPoolSaysSo) {
  PoolSettings closed;
  closed.closed = true;
  queue.install(1, closed);
  EXPECT_EQ(hold("a")->value().error(), HoldErrc::closed);
}

TEST_F(HolderTest, ADroppedLeaseIsReleasedAsUnsure) {
  queue.add_gpu("g0");
  held("a").reset();
  run.poll();
  EXPECT_EQ(gpu_state(), "suspect");
}

TEST_F(HolderTest, AGrantThatNobodyWaitsForIsGivenBackAtOnce) {
  queue.add_gpu("g0");
  const auto first = held("a");
  queue.at();
  HoldAsk ghost;
  ghost.request = RequestId("ghost");
  ghost.run = RunUid("run");
  std::ignore = queue.machine.acquire(ghost, "c0", 0, true);
  EXPECT_TRUE(release(*first));
  run.poll();
  EXPECT_EQ(gpu_state(), "idle");
  EXPECT_EQ(record("ghost"), nullptr);
}

TEST_F(HolderTest, ShuttingDownEndsWhatWaitsAndGivesBackWhatIsHeld) {
  queue.add_gpu("g0");
  const auto lease = held("a");
  const auto waiting = hold("b");
  shut_down();
  EXPECT_EQ(waiting->value().error(), HoldErrc::cancelled);
  EXPECT_EQ(gpu_state(), "suspect");
}

}  // namespace
}  // namespace swage::lease
