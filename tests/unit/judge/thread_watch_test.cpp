#include "gpu_pool/judge/adapters/thread_watch.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
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
  test::signal_process(pid, SIGCONT);
  ::waitpid(pid, &status, WCONTINUED);
  EXPECT_EQ(watch.look(), ThreadWatch::State::running);
  test::signal_process(pid, SIGKILL);
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(watch.look(), ThreadWatch::State::gone);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace swage::judge
