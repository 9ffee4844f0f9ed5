#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/http/server.hpp"
#include "common/rpc/server.hpp"
#include "controller/adapters/control_service.hpp"
#include "controller/adapters/dispatch_service.hpp"
#include "controller/adapters/local_layout.hpp"
#include "controller/adapters/local_pod_backend.hpp"
#include "controller/adapters/out_directory.hpp"
#include "controller/adapters/task_catalog.hpp"
#include "controller/app/config.hpp"
#include "controller/app/controller_metrics.hpp"
#include "controller/app/http_api.hpp"
#include "controller/app/policy_watch.hpp"
#include "controller/app/pool_lead.hpp"
#include "controller/app/progress_events.hpp"
#include "controller/app/sandboxes.hpp"
#include "controller/app/workloads.hpp"
#include "controller/core/curriculum.hpp"
#include "controller/core/dispatcher.hpp"
#include "controller/core/event_log.hpp"
#include "controller/core/run_totals.hpp"

namespace swage::controller {

/// What main prepared before anything was started. All of it outlives the controller.
struct RunSetup {
  const RunFile& file;
  OutDirectory& out;
  const LocalLayout& layout;
  const TaskCatalog& tasks;
  DecodeIds decode;
  std::string token;        ///< internal bearer token, also of the HTTP API
  std::string sandbox_key;  ///< of the sandboxes' tokens
};

/// Runs one TrainingRun on this machine from start to end:
///  1. serves Dispatch.Work, Control.Attach and the HTTP API;
///  2. keeps the run's pods and warm sandboxes running, leads the pool;
///  3. pumps the dispatcher after each event and four times a second;
///  4. ends when the learner is done, a pod has been given up, or `stop` is requested, in order:
///     dispatch, rollout workers, sandboxes, policy, learner, GPU worker, Redis.
/// Thread: everything on `strand`, on the main thread. Life: run() must have returned before it
/// goes.
class RunController final : public WorkerListener, public LearnerListener, public RunApi {
 public:
  RunController(asio::any_io_executor strand, StopSource& stop, Clock& clock, RunSetup setup);

  /// Returns the process's exit code (docs/PROCESSES.md).
  Task<int> run();
  /// Names of what still runs, for the watchdog.
  std::string still_running() const;

  // WorkerListener
  void worker_joined(const std::string& worker, std::uint32_t capacity) override;
  void worker_reported(const std::string& worker, const Attempt& attempt, std::uint32_t turns,
                       std::uint32_t tokens) override;
  void worker_ended(const std::string& worker, const RolloutAccount& account) override;
  void worker_left(const std::string& worker) override;
  // LearnerListener
  void learner_accepted(const std::vector<std::string>& ids) override;
  void learner_status(const LearnerStatus& status) override;
  void learner_gone() override;
  // RunApi
  nlohmann::json run_view() const override;
  nlohmann::json live_rollouts() const override { return live_json(dispatcher_); }
  nlohmann::json pool_view() const override;
  std::string run_name() const override { return setup_.file.run.name; }
  std::string pool_name() const override { return setup_.file.pool.full_name(); }
  Resumed resume(const std::string& pause_id) override;
  void suspend() override;

 private:
  // run_controller.cpp: the loop.
  Task<bool> start_serving();
  Task<> pump_loop();
  Task<> pod_loop();
  void pump();
  void act();
  void dispatch();
  AssignmentOrder order_for(const Dispatcher::Start& start, SandboxAddress sandbox);
  void publish();
  RunPhase phase() const;
  RunFacts facts() const;
  void say(const std::string& type, const nlohmann::json& data);
  void wake();
  Task<std::optional<std::uint64_t>> raise_epoch(std::uint64_t at_least);
  std::vector<std::string> ready_policies() const;
  void policies_changed(std::vector<PolicyServer> servers);
  void pod_failed(PodError error);
  void sandbox_ended(const PodEvent& event);
  std::string cannot_go_on(const std::string& pod, const std::string& reason) const;
  // run_ending.cpp: the end.
  void look_for_the_end();
  Task<> end_in_order();
  void save_totals();
  int close_books();
  Task<> stop_serving();
  void write_run_json(const std::string& state);
  double wall_seconds() const;

  asio::any_io_executor strand_;
  StopSource& stop_;
  Clock& clock_;
  RunSetup setup_;
  TimePoint began_;
  std::int64_t started_unix_ms_;
  std::int64_t completed_unix_ms_ = 0;
  std::uint64_t epoch_ = 0;
  bool serving_ = false;
  bool ending_ = false;
  bool suspended_ = false;
  bool succeeded_ = false;
  std::string failure_;  ///< why the run failed
  int failure_code_ = 1;
  std::optional<TimePoint> sandbox_wanted_;  ///< since when a planned rollout waits for one
  TimePoint saved_;
  TimePoint delivered_;     ///< when a rollout last reached the learner
  std::string last_cause_;  ///< why a rollout was lost last

  Metrics metrics_;
  ControllerMetrics handles_;
  EventLog events_;
  ProgressEvents progress_;
  RunTotals totals_;
  Curriculum curriculum_;
  Dispatcher dispatcher_;

  Event event_added_;
  asio::steady_timer pump_timer_;
  bool woken_ = false;
  Event over_;
  StopSource work_stop_;  ///< of every task in work_
  Gate work_;
  StopSource rpc_stop_;
  Gate rpc_gate_;
  StopSource pods_stop_;
  Gate pods_gate_;
  std::unique_ptr<LocalPodBackend> backend_;
  std::unique_ptr<Workloads> workloads_;
  std::unique_ptr<Sandboxes> sandboxes_;
  PoolLead pool_;
  PolicyWatch policies_;
  std::unique_ptr<TrajectoryClient> trajectories_;
  HttpApi api_;
  DispatchService dispatch_service_;
  ControlService control_service_;
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace swage::controller
