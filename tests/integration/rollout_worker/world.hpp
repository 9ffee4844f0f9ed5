#pragma once

#include <memory>
#include <string>

#include "rollout_worker/adapters/dispatcher_client.hpp"
#include "rollout_worker/adapters/judge_client.hpp"
#include "rollout_worker/adapters/learner_client.hpp"
#include "rollout_worker/adapters/policy_client.hpp"
#include "rollout_worker/adapters/sandbox_client.hpp"
#include "rollout_worker/adapters/teacher_policy.hpp"
#include "rollout_worker/app/commands.hpp"
#include "rollout_worker/app/leased_evaluator.hpp"
#include "rollout_worker/app/rollout_pool.hpp"
#include "tests/integration/rollout_worker/fake_leases.hpp"
#include "tests/integration/rollout_worker/fake_servers.hpp"
#include "tests/support/task_runner.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::rollout_worker::test {

inline constexpr const char* kReadCall =
    R"(<tool_call>{"name":"Read","arguments":{"file_path":"/workspace/task/model.py"}}</tool_call>)";
inline constexpr const char* kProfileCall =
    R"(<tool_call>{"name":"Bash","arguments":{"command":"python3 -m utils.profiling"}}</tool_call>)";

/// Everything a worker talks to, faked behind real gRPC on Unix sockets, and the worker's parts in
/// this process: real clients, pool and loops. Thread: the test's.
class World {
 public:
  /// other: the renderer to use instead of bytes; it outlives the world. tasks: of the teacher.
  explicit World(std::uint32_t capacity = 128, const Renderer* other = nullptr,
                 std::filesystem::path tasks = {})
      : renderer(other != nullptr ? *other : bytes),
        policy(run.executor(), address("policy")),
        sandboxes(run.executor(), address("sandboxes")),
        gpu(run.executor(), address("gpu")),
        learner(run.executor(), address("learner")),
        controller(run.executor(), address("controller")),
        leases(address("gpu")),
        clock(make_steady_clock()),
        servers(
            make_policy_servers(*clock, {"", renderer.tokenizer_digest(), renderer.stop_ids()})),
        teacher(make_teacher(renderer, std::move(tasks))),
        connector(make_sandbox_connector(run.executor(), *clock)),
        judge(make_judge_client(run.executor(), *clock, "")),
        evaluator(leases, *judge, *clock, metrics),
        sink(make_learner_client(run.executor(), *clock, learner.address(), "")),
        dispatcher(make_dispatcher_client(
            run.executor(), *clock,
            {controller.address(), "", "worker-0", "abcd1234-uid", capacity})),
        pool(run.executor(),
             {*clock, renderer, *servers, *teacher, *connector, evaluator, *sink, metrics},
             *dispatcher, capacity),
        commands(pool, *servers) {
    policy.script = {kReadCall, kProfileCall, "Done."};
    controller.policies.add_servers()->set_address(policy.address());
    for (FakeServer* server : servers_of_the_world()) server->start();
    dispatcher->start(commands);
  }

  ~World() {
    if (!drained_) drain(std::chrono::steady_clock::now());
    run(dispatcher->close(std::chrono::seconds(1)));
    run(sink->close());
    for (FakeServer* server : servers_of_the_world()) run(server->kill());
  }

  v1::Assignment assignment(const std::string& id, std::uint32_t attempt = 1) const {
    v1::Assignment a;
    a.mutable_rollout()->set_rollout_id(id);
    a.mutable_rollout()->set_attempt(attempt);
    a.set_epoch(5);
    a.set_run("test");
    a.set_run_uid("abcd1234-uid");
    a.set_stage(v1::STAGE_AGENTIC);
    a.mutable_task()->set_id("softmax");
    a.mutable_task()->set_source("class Model: pass");
    a.mutable_task()->set_digest(std::string(64, 'a'));
    a.mutable_sandbox()->set_address(sandboxes.address());
    a.mutable_sandbox()->set_token(id);
    a.mutable_sandbox()->set_uid("pod-" + id);
    a.set_actor(v1::ACTOR_POLICY);
    a.set_use(v1::USE_PPO);
    a.mutable_limits()->set_turns(10);
    a.mutable_limits()->set_context_tokens(1024);
    a.mutable_limits()->set_turn_tokens(512);
    a.mutable_limits()->set_observation_tokens(256);
    a.mutable_limits()->set_wall_clock_seconds(60);
    a.set_one_machine(true);
    return a;
  }
  void dispatch(v1::Assignment a) {
    v1::DispatcherMessage message;
    *message.mutable_assignment() = std::move(a);
    controller.send(std::move(message));
  }
  /// Drains the pool; once.
  void drain(TimePoint deadline) {
    drained_ = true;
    run(pool.drain(deadline));
  }
  /// Waits for the end of a rollout. Null: it did not end in time.
  const v1::RolloutDone* wait_for(const std::string& id, std::uint32_t attempt = 1) {
    run.wait_until([&] { return controller.done(id, attempt) != nullptr; },
                   std::chrono::seconds(60));
    return controller.done(id, attempt);
  }

  swage::test::TempDirectory directory;
  swage::test::TaskRunner run;
  ByteRenderer bytes;
  const Renderer& renderer;
  FakePolicy policy;
  FakeSandboxes sandboxes;
  FakeEvaluator gpu;
  FakeLearner learner;
  FakeDispatcher controller;
  FakeLeases leases;

  Metrics registry;
  RolloutMetrics metrics{registry};
  std::unique_ptr<Clock> clock;
  std::unique_ptr<PolicyServers> servers;
  std::unique_ptr<PolicyDirectory> teacher;
  std::unique_ptr<SandboxConnector> connector;
  std::unique_ptr<JudgeClient> judge;
  LeasedEvaluator evaluator;
  std::unique_ptr<LearnerClient> sink;
  std::unique_ptr<DispatcherClient> dispatcher;
  RolloutPool pool;
  Commands commands;

 private:
  bool drained_ = false;
  std::string address(const char* name) const {
    return "unix:" + (directory.path() / name).string();
  }
  std::vector<FakeServer*> servers_of_the_world() {
    return {&policy, &sandboxes, &gpu, &learner, &controller};
  }
};

}  // namespace swage::rollout_worker::test
