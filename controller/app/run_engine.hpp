#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "controller/adapters/control_service.hpp"
#include "controller/adapters/dispatch_service.hpp"
#include "controller/adapters/task_catalog.hpp"
#include "controller/api/run_layout.hpp"
#include "controller/app/config.hpp"
#include "controller/app/controller_metrics.hpp"
#include "controller/app/policy_watch.hpp"
#include "controller/app/progress_events.hpp"
#include "controller/app/run_api.hpp"
#include "controller/app/sandboxes.hpp"
#include "controller/app/workloads.hpp"
#include "controller/core/curriculum.hpp"
#include "controller/core/dispatcher.hpp"
#include "controller/core/run_totals.hpp"

namespace swage::controller {

/// What a run is made of and where it lives. All of it outlives the engine.
struct EngineSetup {
  const RunFile& file;
  std::string run_uid;
  const RunLayout& layout;
  const TaskCatalog& tasks;
  std::string token;        ///< internal bearer token
  std::string sandbox_key;  ///< of the sandboxes' tokens
  RunTotals totals;         ///< of earlier lives
  std::int64_t started_unix_ms = 0;
  std::uint64_t evaluation_rollouts = 0;  ///< of each evaluation round
  bool network_isolated = true;           ///< sandboxes reach nothing, or are not ready
  bool takes_over = false;                ///< an earlier controller's rollouts may still run
  double sandbox_create_rate = 20;        ///< a second
  std::function<std::string(const std::string& pod)> log_of = {};  ///< where a pod's log is read
};

/// Whoever hosts an engine. Called on its strand.
class EngineHost {
 public:
  virtual ~EngineHost() = default;
  virtual std::uint64_t epoch() const = 0;
  virtual std::optional<Trouble> pool_trouble() const = 0;
  /// The newest look at the pool; nothing: none yet. Valid until the next call.
  virtual const std::optional<lease::PoolSnapshot>& pool_snapshot() const = 0;
  /// Something happened that watchers may want to know.
  virtual void say(const std::string& type, const nlohmann::json& data) = 0;
  /// After each turn of the loop: look at over() and write what has to be written.
  virtual void turned() = 0;
};

/// One TrainingRun in motion, wherever its pods run:
///  1. finds the pods of an earlier controller, then keeps those of the run and its warm sandboxes;
///  2. is told by rollout workers and the learner, whose streams come through the two desks;
///  3. turns the dispatcher after each event and four times a second;
///  4. says when the run is over, and why.
/// Thread: everything on `strand`. Life: await end_in_order() or leave() before it goes.
class RunEngine final : public WorkerListener, public LearnerListener {
 public:
  RunEngine(asio::any_io_executor strand, Clock& clock, EngineSetup setup, PodBackend& backend,
            EngineHost& host, ControllerMetrics& metrics);

  DispatchDesk& dispatch_desk() { return dispatch_desk_; }
  ControlDesk& control_desk() { return control_desk_; }
  /// Adopts, then starts the loops.
  Task<> start();
  /// Looks again soon.
  void wake();
  /// Stops dispatch and ends the run's pods, the last user of a thing before the thing, but those
  /// of the pool.
  Task<> end_in_order();
  /// Stops the loops and leaves every pod as it is: somebody else leads now.
  Task<> leave();

  /// True once the run has succeeded or failed.
  bool over() const { return succeeded() || !failure_.empty(); }
  bool succeeded() const;
  /// A loop of the engine threw: it does nothing any more.
  bool broken() const { return work_stop_.stopping() && !ending_; }
  const std::string& failure() const { return failure_; }
  int failure_code() const { return failure_code_; }
  void fail(std::string why, int code);
  void completed(std::int64_t unix_ms);
  /// Says what changed.
  void publish();

  RunPhase phase() const;
  RunFacts facts() const;
  RunTotals totals() const;  ///< of all lives, this one's included
  double wall_seconds() const;
  void suspend(bool suspended);
  /// Ends a guardrail pause: true if it was that one.
  RunApi::Resumed resume(const std::string& pause_id);
  const Dispatcher& dispatcher() const { return dispatcher_; }
  Workloads& workloads() { return workloads_; }
  const Sandboxes& sandboxes() const { return sandboxes_; }
  std::string still_running() const;

  // WorkerListener
  void worker_joined(const std::string& worker, std::uint32_t capacity) override;
  void worker_reported(const std::string& worker, const RolloutNews& news) override;
  void worker_ended(const std::string& worker, const RolloutAccount& account) override;
  void worker_left(const std::string& worker) override;
  // LearnerListener
  void learner_accepted(const std::vector<std::string>& ids) override;
  void learner_status(const LearnerStatus& status) override;
  void learner_gone() override;

 private:
  Task<> pump_loop();
  Task<> pod_loop();
  void pump();
  void act();
  void dispatch();
  Task<> claim_and_send(Dispatcher::Start start, SandboxAddress sandbox);
  AssignmentOrder order_for(const Dispatcher::Start& start, SandboxAddress sandbox);
  void look_for_the_end();
  std::vector<std::string> ready_policies() const;
  void policies_changed(std::vector<PolicyServer> servers);
  void pod_failed(PodError error);
  void sandbox_ended(const PodEvent& event);
  void workload_changed(const PodEvent& event);
  std::string cannot_go_on(const std::string& pod, const std::string& reason) const;

  Clock& clock_;
  EngineSetup setup_;
  PodBackend& backend_;
  EngineHost& host_;
  ControllerMetrics& handles_;
  TimePoint began_;
  std::int64_t completed_unix_ms_ = 0;
  bool ending_ = false;
  bool suspended_ = false;
  bool woken_ = false;
  std::string failure_;  ///< why the run failed
  int failure_code_ = 1;
  bool done_ = false;                        ///< the learner has said that all stages are over
  std::optional<TimePoint> sandbox_wanted_;  ///< since when a planned rollout waits for one
  TimePoint delivered_;                      ///< when a rollout last reached the learner
  std::string last_cause_;                   ///< why a rollout was lost last

  ProgressEvents progress_;
  RunTotals totals_;
  Curriculum curriculum_;
  Dispatcher dispatcher_;

  asio::steady_timer pump_timer_;
  StopSource work_stop_;
  StopSource::Hook fault_hook_;  ///< tells the host when a loop has thrown
  Gate work_;
  StopSource pods_stop_;
  Gate pods_gate_;
  Workloads workloads_;
  Sandboxes sandboxes_;
  PolicyWatch policies_;
  DispatchDesk dispatch_desk_;
  ControlDesk control_desk_;
};

}  // namespace swage::controller
