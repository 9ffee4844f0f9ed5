#include "controller/adapters/local_pod_backend.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "common/base/files.hpp"
#include "tests/support/signal_process.hpp"
#include "tests/support/task_runner.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::controller {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// Children are real processes: shell scripts that get their configuration's path as `$1`.
class LocalPodBackendTest : public ::testing::Test {
 protected:
  static constexpr const char* kServe =
      "echo hello from $$; printf '{\"pid\": %d, \"http_port\": 7}' $$ > $1.tmp; "
      "mv $1.tmp ${1%.conf}.ready; ";

  void SetUp() override {
    fs::create_directories(directory_.path() / "pods");
    fs::create_directories(directory_.path() / "logs");
    settings_.pods = directory_.path() / "pods";
    settings_.logs = directory_.path() / "logs";
    program(Component::policy, std::string(kServe) + "exec sleep 1000");
  }
  void TearDown() override {
    if (backend_) run_(backend_->close());
  }
  void program(Component component, const std::string& script) {
    settings_.programs[component] = {"/bin/sh", "-c", script, "pod"};
  }
  LocalPodBackend& backend() {
    if (!backend_) {
      auto made = make_local_pod_backend(run_.executor(), *clock_, settings_);
      EXPECT_TRUE(made);
      backend_ = std::move(*made);
    }
    return *backend_;
  }
  auto create(const std::string& name, Component component = Component::policy) {
    return run_(backend().create({name, name + "-uid", component, "{\"x\": 1}\n"}));
  }
  PodEvent next() {
    auto event = run_(backend().next_event(stop_));
    return event ? *event : PodEvent{};
  }
  /// Skips to the first event of that phase.
  PodEvent until(PodPhase phase) {
    auto event = next();
    while (event.phase != phase) event = next();
    return event;
  }
  static bool alive(std::int64_t pid) {
    return test::signal_process(static_cast<pid_t>(pid), 0) == 0;
  }

  test::TempDirectory directory_;
  test::TaskRunner run_;
  std::unique_ptr<Clock> clock_ = make_steady_clock();
  StopSource stop_;
  LocalBackendSettings settings_;
  std::unique_ptr<LocalPodBackend> backend_;
};

TEST_F(LocalPodBackendTest, APodRunsThenIsReadyAndItsOutputIsInItsLog) {
  ASSERT_TRUE(create("a"));
  EXPECT_EQ(next().phase, PodPhase::running);
  const auto ready = next();
  EXPECT_EQ(ready.phase, PodPhase::ready);
  EXPECT_EQ(ready.http_port, 7);
  EXPECT_EQ(ready.uid, "a-uid");
  EXPECT_THAT(read_file(directory_.path() / "logs/a.log").value(), HasSubstr("hello from"));
  struct stat info{};
  ASSERT_EQ(::stat((directory_.path() / "pods/a.conf").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(LocalPodBackendTest, AReadyFileOfAnEarlierLifeIsNotBelieved) {
  program(Component::policy, "exec sleep 1000");
  ASSERT_TRUE(write_file_durably(directory_.path() / "pods/a.ready", "{\"pid\": 1}"));
  ASSERT_TRUE(create("a"));
  EXPECT_FALSE(fs::exists(directory_.path() / "pods/a.ready"));
  EXPECT_EQ(next().phase, PodPhase::running);
  ASSERT_TRUE(write_file_durably(directory_.path() / "pods/a.ready", "{\"pid\": 1}"));
  ASSERT_TRUE(run_(backend().remove("a", "a-uid", 1s)));
  EXPECT_EQ(next().phase, PodPhase::failed);  // never ready: the pid was another's
}

TEST_F(LocalPodBackendTest, HowAPodEndedIsTold) {
  program(Component::learner, "exit 3");
  program(Component::policy, "exit 0");
  ASSERT_TRUE(create("bad", Component::learner));
  const auto failed = until(PodPhase::failed);
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_EQ(failed.detail, "exit code 3");
  ASSERT_TRUE(create("good"));
  EXPECT_EQ(until(PodPhase::succeeded).exit_code, 0);
  ASSERT_TRUE(create("bad", Component::learner));  // the name is free again
}

TEST_F(LocalPodBackendTest, APodKilledFromOutsideFailsWithoutAnExitCode) {
  ASSERT_TRUE(create("a"));
  const auto ready = until(PodPhase::ready);
  test::signal_process(static_cast<pid_t>(ready.pid), SIGKILL);
  const auto failed = until(PodPhase::failed);
  EXPECT_EQ(failed.exit_code, std::nullopt);
  EXPECT_THAT(failed.detail, HasSubstr("signal 9"));
}

TEST_F(LocalPodBackendTest, RemoveAsksFirstAndKillsAfterTheGrace) {
  program(Component::learner,
          "trap 'exit 0' TERM; " + std::string(kServe) + "while :; do sleep 0.05; done");
  program(Component::policy,
          "trap '' TERM; " + std::string(kServe) + "while :; do sleep 0.05; done");
  ASSERT_TRUE(create("polite", Component::learner));
  until(PodPhase::ready);
  ASSERT_TRUE(run_(backend().remove("polite", "polite-uid", 10s)));
  EXPECT_EQ(next().phase, PodPhase::succeeded);
  ASSERT_TRUE(create("stubborn"));
  until(PodPhase::ready);
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(run_(backend().remove("stubborn", "stubborn-uid", 200ms)));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 200ms);
  EXPECT_EQ(next().phase, PodPhase::failed);
}

TEST_F(LocalPodBackendTest, RemoveLeavesAPodOfAnotherUidAlone) {
  ASSERT_TRUE(create("a"));
  const auto ready = until(PodPhase::ready);
  const auto removed = run_(backend().remove("a", "an older uid", 1s));
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, PodErrc::not_found);
  EXPECT_TRUE(alive(ready.pid));
}

TEST_F(LocalPodBackendTest, WhenAPodEndsItsWholeGroupEnds) {
  program(Component::policy, "sleep 1000 & echo $! > $1.child; " + std::string(kServe) + "wait");
  ASSERT_TRUE(create("a"));
  const auto ready = until(PodPhase::ready);
  const auto child = std::stol(read_file(directory_.path() / "pods/a.conf.child").value());
  ASSERT_TRUE(alive(child));
  test::signal_process(static_cast<pid_t>(ready.pid), SIGKILL);
  until(PodPhase::failed);
  for (int i = 0; i < 500 && alive(child); ++i) ::usleep(10000);  // init reaps it when it likes
  const auto state = read_file("/proc/" + std::to_string(child) + "/stat");
  EXPECT_TRUE(!state || state->find(") Z") != std::string::npos);
}

TEST_F(LocalPodBackendTest, CloseEndsWhateverIsLeft) {
  ASSERT_TRUE(create("a"));
  ASSERT_TRUE(create("b"));
  const auto first = until(PodPhase::ready);
  const auto second = until(PodPhase::ready);
  run_(backend_->close());
  EXPECT_FALSE(alive(first.pid));
  EXPECT_FALSE(alive(second.pid));
  backend_.reset();
}

TEST_F(LocalPodBackendTest, AMissingProgramIsAClearErrorWithTheRemedy) {
  settings_.programs[Component::redis] = {"/nowhere/redis-server"};
  settings_.remedies[Component::redis] = "install it: apt-get install redis-server";
  const auto made = create("r", Component::redis);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, PodErrc::missing);
  EXPECT_THAT(made.error().message, HasSubstr("apt-get install redis-server"));
}

TEST_F(LocalPodBackendTest, ANameInUseIsRefused) {
  ASSERT_TRUE(create("a"));
  const auto again = create("a");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, PodErrc::refused);
}

TEST_F(LocalPodBackendTest, PodsRunOnTheCoresOfTheirComponentAndWeKeepOurs) {
  settings_.cores[Component::policy] = {0};
  cpu_set_t before;
  CPU_ZERO(&before);
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(create("a"));
  const auto ready = until(PodPhase::ready);
  cpu_set_t child, after;
  CPU_ZERO(&child);
  CPU_ZERO(&after);
  ASSERT_EQ(::sched_getaffinity(static_cast<pid_t>(ready.pid), sizeof child, &child), 0);
  EXPECT_EQ(CPU_COUNT(&child), 1);
  EXPECT_TRUE(CPU_ISSET(0, &child));
  ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST_F(LocalPodBackendTest, ChildrenDieWithTheirParent) {
  int report[2];
  ASSERT_EQ(::pipe(report), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {  // a controller of its own that is killed without warning
    asio::io_context context;
    auto made = make_local_pod_backend(context.get_executor(), *clock_, settings_);
    std::int64_t pid = 0;
    asio::co_spawn(context, (*made)->create({"a", "u", Component::policy, "{}"}),
                   [](std::exception_ptr, auto) {});
    asio::co_spawn(context, (*made)->next_event(stop_),
                   [&](std::exception_ptr, std::optional<PodEvent> event) {
                     pid = event ? event->pid : -1;
                     [[maybe_unused]] const auto told = ::write(report[1], &pid, sizeof pid);
                   });
    context.run_for(30s);
    ::_exit(0);
  }
  std::int64_t pid = 0;
  ASSERT_EQ(::read(report[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  ASSERT_GT(pid, 0);
  ASSERT_TRUE(alive(pid));
  test::signal_process(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  const auto gone = [&] {
    const auto state = read_file("/proc/" + std::to_string(pid) + "/stat");
    return !state || state->find(") Z") != std::string::npos;
  };
  for (int i = 0; i < 1000 && !gone(); ++i) ::usleep(10000);
  EXPECT_TRUE(gone());
  ::close(report[0]);
  ::close(report[1]);
}

}  // namespace
}  // namespace swage::controller
