#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <stdexcept>
#include <thread>

#include "common/asio/blocking.hpp"
#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/asio/handoff.hpp"
#include "common/asio/root.hpp"
#include "common/base/stop_graces.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/task_runner.hpp"

namespace swage {
namespace {

using test::FakeClock;
using test::TaskRunner;

using namespace std::chrono_literals;

Task<> sleep_and_note(FakeClock& clock, Duration length, StopSource& stop, std::string& log) {
  co_await clock.sleep_for(length, stop);
  log += stop.stopping() ? "stopped;" : "slept;";
}

Task<> fail() {
  throw std::runtime_error("boom");
  co_return;
}

TEST(Gate, JoinWaitsForEveryTaskAndLetsNoMoreIn) {
  TaskRunner run;
  FakeClock clock;
  StopSource stop;
  std::string log;
  Gate gate(run.executor(), stop, 2);
  EXPECT_TRUE(gate.spawn("a", sleep_and_note(clock, 1s, stop, log)));
  EXPECT_TRUE(gate.spawn("b", sleep_and_note(clock, 2s, stop, log)));
  EXPECT_FALSE(gate.spawn("c", sleep_and_note(clock, 1s, stop, log)));
  const auto joined = run.start(gate.join());
  EXPECT_FALSE(gate.spawn("late", sleep_and_note(clock, 1s, stop, log)));
  clock.advance(1s);
  run.poll();
  EXPECT_FALSE(joined->ended);
  clock.advance(1s);
  run.poll();
  EXPECT_TRUE(joined->ended);
  EXPECT_EQ(log, "slept;slept;");
}

TEST(Gate, AFailureStopsTheSiblingsAndRisesThroughJoin) {
  TaskRunner run;
  FakeClock clock;
  StopSource stop;
  std::string log;
  Gate gate(run.executor(), stop);
  EXPECT_TRUE(gate.spawn("sleeper", sleep_and_note(clock, 1h, stop, log)));
  EXPECT_TRUE(gate.spawn("bad", fail()));
  EXPECT_THROW(run(gate.join()), std::runtime_error);
  EXPECT_EQ(log, "stopped;");
}

TEST(GateDeathTest, AGateThatGoesWithTasksEndsTheProcess) {
  EXPECT_DEATH(
      {
        TaskRunner run;
        FakeClock clock;
        StopSource stop;
        std::string log;
        Gate gate(run.executor(), stop);
        std::ignore = gate.spawn("left", sleep_and_note(clock, 1h, stop, log));
        run.poll();
      },
      "join\\(\\) a gate");
}

TEST(StopSource, TheFirstReasonStandsAndGoneHooksAreNotCalled) {
  StopSource stop;
  int calls = 0;
  const auto kept = stop.on_stop([&] { ++calls; });
  {
    const auto gone = stop.on_stop([&] { calls += 100; });
  }
  stop.request(StopReason::deadline);
  stop.request(StopReason::fault);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(stop.reason(), StopReason::deadline);
}

Task<int> sum_of(Mailbox<int>& box, StopSource& stop) {
  int sum = 0;
  while (auto value = co_await box.pop(stop)) sum += *value;
  co_return sum;
}

TEST(Mailbox, PopDrainsWhatIsLeftAfterClose) {
  TaskRunner run;
  StopSource stop;
  Mailbox<int> box(run.executor());
  box.push(1);
  box.push(2);
  box.close();
  box.push(100);
  EXPECT_EQ(run(sum_of(box, stop)), 3);
}

TEST(RunBlocking, ReturnsValuesAndRethrowsWhatTheFunctionThrew) {
  TaskRunner run;
  asio::thread_pool pool(1);
  const auto caller = std::this_thread::get_id();
  EXPECT_NE(run(run_blocking(pool, [] { return std::this_thread::get_id(); })), caller);
  EXPECT_THROW(run(run_blocking(pool, []() -> int { throw std::runtime_error("inside"); })),
               std::runtime_error);
}

template <class Start>
Task<int> completed_by(Start start) {
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(int)>(
      start, asio::use_awaitable);
}

// A library may keep its callback long after it has called it. What the thread lets go here would
// be used after its end if it belonged to the io_context: the address sanitizer watches.
TEST(Handoff, MayBeLetGoAfterTheEndOfItsIoContext) {
  std::promise<void> context_gone;
  std::thread library;
  {
    TaskRunner run;
    auto start = [&](auto resume) {
      library = std::thread(
          [handoff = make_handoff(std::move(resume)), gone = context_gone.get_future()]() mutable {
            handoff->complete(7);
            gone.wait();
            handoff.reset();
          });
    };
    EXPECT_EQ(run(completed_by(start)), 7);
  }
  context_gone.set_value();
  library.join();
}

TEST(StrandLink, PostsNothingOnceClosed) {
  TaskRunner run;
  StrandLink link(run.executor());
  int ran = 0;
  EXPECT_TRUE(link.post([&ran] { ++ran; }));
  link.close();
  EXPECT_FALSE(link.post([&ran] { ++ran; }));
  run.poll();
  EXPECT_EQ(ran, 1);
}

Task<int> never_end(asio::any_io_executor strand) {
  std::raise(SIGTERM);
  Event never(strand);
  StopSource unused;
  while (true) co_await never.wait(unused);
}

Task<int> block(StopSource& stop, asio::any_io_executor strand) {
  std::raise(SIGTERM);
  while (!stop.stopping()) co_await asio::post(strand, asio::use_awaitable);
  while (true) ::pause();
}

Task<int> end_when_asked(StopSource& stop, asio::any_io_executor strand) {
  std::raise(SIGTERM);
  while (!stop.stopping()) co_await asio::post(strand, asio::use_awaitable);
  co_return 3;
}

TEST(RunRoot, ARootThatIsLateIsNamedAndEnded) {
  EXPECT_EXIT(std::_Exit(run_root([](auto strand, StopSource&) { return never_end(strand); }, 50ms,
                                  [] { return std::string("the one that hangs"); })),
              testing::ExitedWithCode(70), "after the grace period: the one that hangs");
}

TEST(RunRoot, AThreadThatDoesNotComeBackIsEndedToo) {
  EXPECT_EXIT(
      std::_Exit(run_root([](auto strand, StopSource& stop) { return block(stop, strand); }, 50ms)),
      testing::ExitedWithCode(70), "a thread that does not come back");
}

TEST(RunRoot, OneThatEndsInTimeIsNot) {
  EXPECT_EXIT(std::_Exit(run_root(
                  [](auto strand, StopSource& stop) { return end_when_asked(stop, strand); }, 60s)),
              testing::ExitedWithCode(3), "");
}

TEST(StopGraces, AWatchdogFiresBeforeTheProcessIsKilled) {
  for (const auto& stop : {kSandboxStop, kPolicyStop, kLearnerStop, kRolloutWorkerStop,
                           kGpuWorkerStop, kLocalControllerStop, kClusterControllerStop}) {
    const auto last_resort = stop.watchdog() + std::min<Duration>(stop.watchdog() / 20, 1s);
    EXPECT_GE(stop.grace - last_resort, 250ms);
    EXPECT_GE(stop.watchdog(), stop.grace * 3 / 4);
  }
  // The controller ends them one after the other, and has time for that itself.
  const auto all = kDefaultDrain * 2 + kRolloutWorkerStop.grace + kSandboxStop.grace +
                   kPolicyStop.grace + kLearnerStop.grace + kGpuWorkerStop.grace + kRedisStop.grace;
  EXPECT_LT(all, kLocalControllerStop.watchdog());
}

}  // namespace
}  // namespace swage
