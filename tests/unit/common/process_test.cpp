#include "common/asio/process.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "common/base/descriptor.hpp"
#include "common/base/digest.hpp"
#include "tests/support/signal_process.hpp"
#include "tests/support/task_runner.hpp"

namespace swage {
namespace {

using test::TaskRunner;

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() : log_(std::filesystem::path(testing::TempDir()) / to_hex(random_bytes(8))) {}
  ~ProcessTest() override { std::filesystem::remove(log_); }

  ProcessSpec shell(const std::string& script) const {
    ProcessSpec spec;
    spec.argv = {"sh", "-c", script};
    spec.env = {{"PATH", "/usr/bin:/bin"}, {"WORD", "from the environment"}};
    spec.log = log_;
    return spec;
  }

  TaskRunner run_;
  std::filesystem::path log_;
};

TEST_F(ProcessTest, HasTheGivenEnvironmentAndItsOutputGoesToTheLog) {
  auto child =
      Process::start(run_.executor(), shell("echo \"$WORD\"; echo \"${HOME:-none}\" >&2; exit 3"));
  ASSERT_TRUE(child);
  const int status = run_((*child)->wait());
  EXPECT_EQ(describe_status(status), "exit code 3");
  EXPECT_EQ(*read_file(log_), "from the environment\nnone\n");
}

TEST_F(ProcessTest, AProgramThatDoesNotExistIsAnErrorWithItsName) {
  ProcessSpec spec;
  spec.argv = {"swage-no-such-program"};
  const auto child = Process::start(run_.executor(), spec);
  ASSERT_FALSE(child);
  EXPECT_THAT(child.error().message, testing::HasSubstr("swage-no-such-program"));
}

TEST_F(ProcessTest, ASignalToTheGroupEndsGrandchildrenToo) {
  auto child = Process::start(run_.executor(), shell("sleep 1000 & echo $!; wait"));
  ASSERT_TRUE(child);
  ASSERT_TRUE(run_.wait_until([&] {
    const auto text = read_file(log_);
    return text && text->ends_with("\n");
  }));
  const pid_t grandchild = std::stoi(*read_file(log_));
  EXPECT_EQ(test::signal_process(grandchild, 0), 0);
  (*child)->signal(SIGKILL, true);
  EXPECT_EQ(describe_status(run_((*child)->wait())), "signal 9 (Killed)");
  ASSERT_TRUE(run_.wait_until([&] {
    const auto stat = read_file("/proc/" + std::to_string(grandchild) + "/stat");
    return !stat || stat->find(") Z ") != std::string::npos;
  }));
}

TEST_F(ProcessTest, WhatIsLeftOfTheGroupEndsWithItsLeader) {
  auto child = Process::start(run_.executor(), shell("sleep 1000 & echo $!"));
  ASSERT_TRUE(child);
  EXPECT_EQ(run_((*child)->wait()), 0);
  const pid_t grandchild = std::stoi(*read_file(log_));
  EXPECT_TRUE(run_.wait_until([&] {
    const auto stat = read_file("/proc/" + std::to_string(grandchild) + "/stat");
    return !stat || stat->find(") Z ") != std::string::npos;
  }));
}

/// A child of ours with this number, leader of a group of that number, that ends with code 42 when
/// a byte comes from `in`; -1: that number is not to be had.
pid_t fork_as(pid_t number, int in) {
  clone_args how{};
  how.exit_signal = SIGCHLD;
  how.set_tid = reinterpret_cast<std::uintptr_t>(&number);
  how.set_tid_size = 1;
  const auto child = static_cast<pid_t>(::syscall(SYS_clone3, &how, sizeof how));
  if (child == 0) {
    char byte = 0;
    ::_exit(::read(in, &byte, 1) == 1 ? 42 : 1);
  }
  if (child > 0) ::setpgid(child, child);
  return child;
}

TEST_F(ProcessTest, WhoGetsTheNumberOfOneThatHasEndedIsNotHit) {
  auto child = Process::start(run_.executor(), shell("exit 0"));
  ASSERT_TRUE(child);
  const pid_t number = (*child)->pid();
  EXPECT_EQ(run_((*child)->wait()), 0);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Descriptor in(ends[0]);
  const Descriptor out(ends[1]);
  const pid_t other = fork_as(number, in.get());
  if (other < 0) GTEST_SKIP() << "needs CAP_CHECKPOINT_RESTORE to choose a process's number";
  (*child)->signal(SIGKILL, true);
  (*child)->signal(SIGKILL, false);
  child->reset();
  EXPECT_EQ(::write(out.get(), "x", 1), 1);
  int status = 0;
  EXPECT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(describe_status(status), "exit code 42");
}

TEST_F(ProcessTest, DescriptorsArriveUnderTheirNewNumbers) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  auto spec = shell("echo through the pipe >&7");
  spec.descriptors = {{7, ends[1]}};
  auto child = Process::start(run_.executor(), spec);
  ASSERT_TRUE(child);
  ::close(ends[1]);
  EXPECT_EQ(run_((*child)->wait()), 0);
  char text[64] = {};
  EXPECT_GT(::read(ends[0], text, sizeof text), 0);
  EXPECT_STREQ(text, "through the pipe\n");
  ::close(ends[0]);
}

TEST_F(ProcessTest, NoOtherDescriptorIsInherited) {
  const Descriptor leaking(::dup(STDERR_FILENO));              // without O_CLOEXEC
  const Descriptor far(::fcntl(STDERR_FILENO, F_DUPFD, 200));  // and where nobody looks
  const Descriptor wanted(::fcntl(leaking.get(), F_DUPFD_CLOEXEC, 100));
  auto spec = shell("exec ls /proc/self/fd");
  // Targets and sources overlap: neither may be overwritten before it is copied.
  spec.descriptors = {{4, wanted.get()}, {leaking.get(), leaking.get()}, {101, leaking.get()}};
  auto child = Process::start(run_.executor(), spec);
  ASSERT_TRUE(child);
  EXPECT_EQ(run_((*child)->wait()), 0);
  std::istringstream in(*read_file(log_));
  std::set<int> open;
  for (int number = 0; in >> number;) open.insert(number);
  std::set<int> expected{0, 1, 2, 4, leaking.get(), 101};
  int own = 3;  // the directory that ls reads: the lowest that is free
  while (expected.contains(own)) ++own;
  expected.insert(own);
  EXPECT_EQ(open, expected);
}

TEST_F(ProcessTest, AProgramThatDoesNotExistIsNamedWithDescriptorsToo) {
  ProcessSpec spec;
  spec.argv = {"swage-no-such-program"};
  // The pipe for the reason has the lowest numbers that are free, and these are wanted.
  for (int number = 3; number < 20; ++number) spec.descriptors[number] = STDERR_FILENO;
  const auto child = Process::start(run_.executor(), spec);
  ASSERT_FALSE(child);
  EXPECT_THAT(child.error().message, testing::HasSubstr("swage-no-such-program"));
}

}  // namespace
}  // namespace swage
