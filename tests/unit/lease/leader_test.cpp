#include <gmock/gmock.h>

#include "gpu_pool/lease/app/pool_leader.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/machine_queue.hpp"
#include "tests/support/task_runner.hpp"

namespace swage::lease {
namespace {

using namespace std::chrono_literals;
using swage::test::FakeClock;
using swage::test::MachineLeader;
using swage::test::MachineQueue;
using swage::test::TaskRunner;

class LeaderTest : public ::testing::Test {
 protected:
  LeaderTest() { run.poll(); }
  void TearDown() override {
    const auto ended = run.start(leader.shut_down());
    ASSERT_TRUE(run.wait_until([&] { return ended->ended; }));
  }
  void pass(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      clock.advance(1s);
      run.poll();
    }
  }
  Task<std::optional<std::uint64_t>> raise(std::uint64_t at_least) {
    if (etcd_down) co_return std::nullopt;
    stored = std::max(stored, at_least) + 1;
    co_return stored;
  }

  TaskRunner run;
  FakeClock clock;
  MachineQueue queue{clock};
  MachineLeader end{queue};
  std::uint64_t stored = 4;
  bool etcd_down = false;
  LeaderLoop leader{run.executor(), end, clock, PoolSettings{},
                    [this](std::uint64_t at_least) { return raise(at_least); }};
};

TEST_F(LeaderTest, ItTakesAnEpochAboveTheStoredOneAndInstallsIt) {
  EXPECT_EQ(leader.epoch(), 5U);
  EXPECT_EQ(queue.machine.state().meta.epoch, 5U);
}

TEST_F(LeaderTest, ItSweepsEverySecond) {
  queue.add_gpu("g0");
  pass(4);
  EXPECT_EQ(queue.machine.state().gpus.at("g0").state, "idle");
  pass(2);
  EXPECT_EQ(queue.machine.state().gpus.at("g0").state, "absent");
}

TEST_F(LeaderTest, AChangedServerGetsAHigherEpochWithinThreeSeconds) {
  queue.machine = Machine([](const std::string&) { return true; });
  queue.server = "server-2";
  pass(3);
  EXPECT_EQ(leader.epoch(), 6U);
  EXPECT_EQ(queue.machine.state().meta.server, "server-2");
}

TEST_F(LeaderTest, AWorkersHigherFloorRaisesTheEpochAboveIt) {
  queue.at();
  Registration registration;
  registration.gpu = GpuId("g0");
  registration.boot = BootId("boot");
  registration.floor = {9, 3};
  EXPECT_TRUE(std::holds_alternative<EpochBehind>(*queue.machine.register_gpu(registration)));
  pass(2);
  EXPECT_EQ(leader.epoch(), 10U);
}

TEST_F(LeaderTest, ANewerLeadersEpochEndsThisOne) {
  queue.install(50);
  pass(2);
  EXPECT_TRUE(leader.deposed());
  EXPECT_EQ(queue.machine.state().meta.epoch, 50U);
}

TEST_F(LeaderTest, WithoutTheAuthorityOverEpochsNothingIsInstalled) {
  etcd_down = true;
  queue.machine = Machine([](const std::string&) { return true; });
  pass(5);
  EXPECT_FALSE(queue.machine.state().installed);
  etcd_down = false;
  pass(2);
  EXPECT_TRUE(queue.machine.state().installed);
}

}  // namespace
}  // namespace swage::lease
