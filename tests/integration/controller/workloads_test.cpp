#include "controller/app/workloads.hpp"

#include <gmock/gmock.h>
#include <signal.h>

#include <set>

#include "controller/adapters/local_layout.hpp"
#include "controller/adapters/local_pod_backend.hpp"
#include "controller/adapters/out_directory.hpp"
#include "controller/adapters/run_file.hpp"
#include "tests/support/signal_process.hpp"
#include "tests/support/task_runner.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kText = R"(apiVersion: swage.dev/v1alpha1
kind: TrainingRun
metadata: {name: small}
spec: {preset: OneMachine, deviceKind: cpu, model: {source: "scratch:tiny"}, tasks: [{set: builtin-cpu}]}
)";
constexpr const char* kServe =
    "printf '{\"pid\": %d, \"http_port\": 7}' $$ > $1.tmp; mv $1.tmp ${1%.conf}.ready; ";

/// The run's real set of pods: a real redis-server, and shell scripts in the place of our binaries.
class WorkloadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto file = parse_run_file(kText, "f");
    ASSERT_TRUE(file);
    file_ = std::move(*file);
    auto out = OutDirectory::open(directory_.path() / "run", file_.run, kText, false);
    ASSERT_TRUE(out);
    out_ = std::move(*out);
    installed_.redis_server = "/usr/bin/redis-server";
    layout_ = std::make_unique<LocalLayout>(*out_, file_, installed_, 0);
    ASSERT_TRUE(layout_->prepare(*out_));
    settings_ = layout_->backend_settings();
    for (const auto component :
         {Component::gpu_worker, Component::policy, Component::learner, Component::rollout_worker})
      script(component, std::string(kServe) + "exec sleep 1000");
  }
  void TearDown() override {
    if (backend_) run_(backend_->close());
    work_stop_.request(StopReason::requested);
    run_(gate_->join());
    layout_->clean_up();
  }
  void script(Component component, const std::string& text) {
    settings_.programs[component] = {"/bin/sh", "-c", text, "pod"};
  }
  void open(RestartPolicy policy = {}) {
    auto made = make_local_pod_backend(run_.executor(), *clock_, settings_);
    ASSERT_TRUE(made);
    backend_ = std::move(*made);
    gate_ = std::make_unique<Gate>(run_.executor(), work_stop_);
    workloads_ = std::make_unique<Workloads>(*backend_, *layout_, *clock_, *gate_, policy, [] {});
  }
  /// Pumps, and takes pod events, until `done`.
  Task<bool> turn(std::function<bool()> done) {
    const auto deadline = clock_->now() + 15s;
    StopSource stop;
    while (!done()) {
      if (clock_->now() > deadline) co_return false;
      workloads_->pump();
      StopSource late;
      Gate watch(run_.executor(), late);
      std::ignore = watch.spawn("limit", limit(late));
      const auto event = co_await backend_->next_event(late);
      late.request(StopReason::requested);
      co_await watch.join();
      if (event) workloads_->observed(*event);
    }
    co_return true;
  }
  Task<> limit(StopSource& late) {
    co_await clock_->sleep_for(50ms, late);
    late.request(StopReason::deadline);
  }
  bool until(std::function<bool()> done) { return run_(turn(std::move(done))); }
  std::int64_t pid(const std::string& name) { return workloads_->reconciler().pods().at(name).pid; }

  test::TempDirectory directory_;
  test::TaskRunner run_;
  std::unique_ptr<Clock> clock_ = make_steady_clock();
  RunFile file_;
  std::unique_ptr<OutDirectory> out_;
  Installation installed_;
  std::unique_ptr<LocalLayout> layout_;
  LocalBackendSettings settings_;
  StopSource work_stop_;
  std::unique_ptr<LocalPodBackend> backend_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<Workloads> workloads_;
};

TEST_F(WorkloadsTest, EveryPodOfARunStartsWithARealRedisFirst) {
  open();
  ASSERT_TRUE(until([&] { return workloads_->reconciler().all_ready(); }));
  EXPECT_EQ(workloads_->reconciler().pods().size(), 5U);
  EXPECT_EQ(workloads_->ready_addresses(Component::policy),
            std::vector<std::string>{layout_->address_of("small-policy-0")});
}

TEST_F(WorkloadsTest, AKilledPodComesBackAsAnotherProcess) {
  open();
  ASSERT_TRUE(until([&] { return workloads_->reconciler().all_ready(); }));
  for (const std::string name : {"small-learner-0", "small-redis-0"}) {
    const auto first = pid(name);
    test::signal_process(static_cast<pid_t>(first), SIGKILL);
    ASSERT_TRUE(until([&] { return pid(name) != first; }));
    ASSERT_TRUE(until([&] { return workloads_->reconciler().all_ready(); }));
  }
  EXPECT_EQ(workloads_->reconciler().restarts(), 2U);
}

TEST_F(WorkloadsTest, APodThatCannotLiveSpendsItsBudgetAndIsNamed) {
  script(Component::policy, "exit 1");
  RestartPolicy policy;
  policy.first_delay = 1ms;
  policy.budget = 3;
  open(policy);
  ASSERT_TRUE(until([&] { return workloads_->reconciler().given_up().has_value(); }));
  EXPECT_EQ(workloads_->reconciler().given_up()->pod, "small-policy-0");
  EXPECT_THAT(workloads_->reconciler().given_up()->reason, HasSubstr("exit code 1"));
}

TEST_F(WorkloadsTest, AMissingRedisIsNamedWithItsRemedy) {
  settings_.programs[Component::redis] = {"/nowhere/redis-server"};
  open();
  ASSERT_TRUE(until([&] { return workloads_->reconciler().given_up().has_value(); }));
  EXPECT_THAT(workloads_->reconciler().given_up()->reason,
              HasSubstr("apt-get install redis-server"));
}

TEST_F(WorkloadsTest, AStoppedComponentStaysDownAndLeavesNothing) {
  open();
  ASSERT_TRUE(until([&] { return workloads_->reconciler().all_ready(); }));
  const auto learner = pid("small-learner-0");
  run_(workloads_->stop(Component::learner, 5s));
  EXPECT_NE(test::signal_process(static_cast<pid_t>(learner), 0), 0);
  workloads_->pump();
  EXPECT_TRUE(workloads_->ready_addresses(Component::rollout_worker).size() == 1);
}

}  // namespace
}  // namespace swage::controller
