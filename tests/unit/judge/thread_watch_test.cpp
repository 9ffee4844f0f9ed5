#include "gpu_pool/judge/adapters/thread_watch.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/support/signal_process.hpp"

namespace swage::judge {
namespace {

/// A child with two busy threads; a byte on `ready` says that both run.
pid_t start_child(int ready) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  std::atomic<int> running = 0;
  const auto spin = [&running] {
    ++running;
    while (true) std::this_thread::yield();
  };
  std::thread other(spin);
  while (running < 1) std::this_thread::yield();
  std::ignore = ::write(ready, "x", 1);
  spin();
  return 0;
}

TEST(ThreadWatch, SeesAProcessStoppedOnlyWhenEveryThreadStands) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t pid = start_child(ready[1]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ThreadWatch watch(pid);
  EXPECT_EQ(watch.look(), ThreadWatch::State::running);
  test::signal_process(pid, SIGSTOP);
  int status = 0;
  ::waitpid(pid, &status, WUNTRACED);
  while (watch.look() == ThreadWatch::State::running) std::this_thread::yield();
  EXPECT_EQ(watch.look(), ThreadWatch::State::stopped);
  const std::uint64_t turns = watch.turns();
  EXPECT_EQ(watch.turns(), turns) << "nobody stopped is given a processor";
  test::signal_process(pid, SIGCONT);
  ::waitpid(pid, &status, WCONTINUED);
  while (watch.turns() == turns) std::this_thread::yield();
  EXPECT_EQ(watch.look(), ThreadWatch::State::running);
  test::signal_process(pid, SIGKILL);
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(watch.look(), ThreadWatch::State::gone);
  ::close(ready[0]);
  ::close(ready[1]);
}

void stay_on_core_0() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

TEST(OwnWait, GrowsWhileAnotherThreadHasTheCore) {
  if (::access("/proc/thread-self/schedstat", R_OK) != 0)
    GTEST_SKIP() << "the kernel keeps no account of waits";
  std::atomic<bool> done = false;
  std::jthread other([&] {
    stay_on_core_0();
    while (!done) continue;
  });
  std::jthread judge([&] {
    stay_on_core_0();
    const double before = own_waited_ns();
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (own_waited_ns() == before && std::chrono::steady_clock::now() < limit) continue;
    EXPECT_GT(own_waited_ns(), before);
    done = true;
  });
}

}  // namespace
}  // namespace swage::judge
