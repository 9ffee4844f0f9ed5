#include "gpu_pool/worker/app/registrar.hpp"

#include <gmock/gmock.h>

#include "tests/support/fake_clock.hpp"
#include "tests/support/fake_judge_runner.hpp"
#include "tests/support/machine_queue.hpp"
#include "tests/support/task_runner.hpp"

namespace swage::worker {
namespace {

using namespace std::chrono_literals;
using swage::test::FakeClock;
using swage::test::FakeJudgeRunner;
using swage::test::MachineHolder;
using swage::test::MachineQueue;
using swage::test::MachineWorker;
using swage::test::TaskRunner;

/// A worker on the core machine, and a client that takes its GPU.
class RegistrarTest : public ::testing::Test {
 protected:
  RegistrarTest() {
    queue.install(1);
    run.poll();
  }
  void TearDown() override {
    runner.die();
    const auto ended = run.start(registrar.shut_down());
    ASSERT_TRUE(run.wait_until([&] { return ended->ended; }));
    const auto drained = run.start(evaluations.drain(clock.now()));
    clock.advance(1h);
    ASSERT_TRUE(run.wait_until([&] { return drained->ended; }));
  }
  void beats(int count) {
    for (int i = 0; i < count; ++i) {
      clock.advance(1s);
      run.poll();
    }
  }
  lease::Grant take(const std::string& request) {
    lease::HoldAsk ask;
    ask.request = lease::RequestId(request);
    ask.run = lease::RunUid("run");
    return std::get<lease::Grant>(*run(holder.acquire(ask, {}, true, {})));
  }
  std::shared_ptr<OpenEvaluation> judge(const lease::Grant& grant) {
    EvaluationCall call;
    call.request = grant.request;
    call.token = grant.token;
    call.client = lease::ClientId("c0");
    call.work.request = grant.request.str();
    call.work.run_uid = "run";
    call.valid_for = 12s;
    auto accepted = evaluations.accept(std::move(call));
    auto open = std::get<std::shared_ptr<OpenEvaluation>>(accepted);
    open->give_bundle("bundle");
    run.poll();
    return open;
  }
  std::string gpu_state() const {
    const auto at = queue.machine.state().gpus.find("gpu0");
    return at == queue.machine.state().gpus.end() ? "none" : at->second.state;
  }

  TaskRunner run;
  FakeClock clock;
  FakeJudgeRunner runner{run.executor()};
  std::vector<std::string> fatal;
  Evaluations evaluations{run.executor(),
                          runner,
                          clock,
                          {[this](std::string what) { fatal.push_back(std::move(what)); }, {}}};
  MachineQueue queue{clock};
  MachineWorker worker{queue};
  MachineHolder holder{queue, "c0"};
  Registrar registrar{run.executor(),
                      worker,
                      evaluations,
                      clock,
                      {lease::GpuId("gpu0"), lease::BootId("boot-a"), "unix:/gpu0"},
                      [this](std::string what) { fatal.push_back(std::move(what)); }};
};

TEST_F(RegistrarTest, AClearDeviceRegistersAndIsIdle) {
  EXPECT_TRUE(registrar.registered());
  EXPECT_TRUE(runner.was("clear"));
  EXPECT_EQ(gpu_state(), "idle");
}

TEST_F(RegistrarTest, ADeviceThatIsNotClearDoesNotRegister) {
  runner.clean = false;
  queue.machine = lease::Machine([](const std::string&) { return false; });
  queue.install(2);
  beats(3);
  EXPECT_FALSE(registrar.registered());
  EXPECT_EQ(gpu_state(), "none");
  runner.clean = true;
  beats(2);
  EXPECT_TRUE(registrar.registered());
}

TEST_F(RegistrarTest, ALeaseTakenBackIsKilledClearedAndGivenOn) {
  const auto grant = take("a");
  const auto open = judge(grant);
  open->extend(60s);  // a holder that is cut off from Redis and does not know that it must stop
  for (int i = 0; i < 16 && gpu_state() != "idle"; ++i) beats(1);
  beats(2);
  EXPECT_TRUE(runner.was("killed a"));
  EXPECT_EQ(gpu_state(), "idle");
  const auto next = take("b");
  judge(next);
  EXPECT_EQ(runner.running, "b");
}

TEST_F(RegistrarTest, AfterRedisWasLostTheRunningLeaseIsHeldAgain) {
  const auto grant = take("a");
  judge(grant);
  queue.machine = lease::Machine([](const std::string&) { return true; });  // restarted, empty
  queue.server = "server-2";
  beats(2);
  EXPECT_FALSE(registrar.registered());  // no epoch yet
  EXPECT_EQ(runner.running, "a");        // served to its end
  queue.install(2);
  beats(2);
  EXPECT_TRUE(registrar.registered());
  EXPECT_EQ(gpu_state(), "leased");
  EXPECT_EQ(runner.running, "a");
  EXPECT_TRUE(run(holder.renew(grant.request, grant.token, {})).has_value());
}

TEST_F(RegistrarTest, TokensFromBeforeAnEmptyRestartAreRefusedByAnIdleGpu) {
  const auto grant = take("a");  // never used
  queue.machine = lease::Machine([](const std::string&) { return true; });
  queue.server = "server-2";
  queue.install(2);
  beats(3);
  EXPECT_TRUE(registrar.registered());
  EvaluationCall call;
  call.request = grant.request;
  call.token = grant.token;
  call.valid_for = 12s;
  EXPECT_EQ(std::get<Refused>(evaluations.accept(call)).code, Refusal::stale);
}

TEST_F(RegistrarTest, AnotherBootOfTheSameGpuEndsThisOne) {
  queue.add_gpu("gpu0", "boot-b");
  EXPECT_TRUE(fatal.empty());
  beats(1);
  ASSERT_EQ(fatal.size(), 1U);
  EXPECT_THAT(fatal[0], ::testing::HasSubstr("another process serves"));
}

TEST_F(RegistrarTest, AFailedClearQuarantinesAndAPassedSelfTestBringsTheGpuBack) {
  const auto grant = take("a");
  judge(grant)->extend(60s);
  runner.clean = false;
  for (int i = 0; i < 20 && gpu_state() != "quarantined"; ++i) beats(1);
  EXPECT_EQ(gpu_state(), "quarantined");
  EXPECT_FALSE(fatal.empty());
  runner.clean = true;
  beats(4);
  EXPECT_EQ(gpu_state(), "idle");
}

TEST_F(RegistrarTest, WithoutTheQueueTheWorkerKeepsTrying) {
  queue.down = true;
  beats(10);
  queue.down = false;
  beats(2);
  EXPECT_TRUE(registrar.registered());
  EXPECT_EQ(gpu_state(), "idle");
}

}  // namespace
}  // namespace swage::worker
