#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/http/server.hpp"
#include "common/rpc/server.hpp"
#include "controller/adapters/local_layout.hpp"
#include "controller/adapters/local_pod_backend.hpp"
#include "controller/adapters/out_directory.hpp"
#include "controller/app/event_feed.hpp"
#include "controller/app/http_api.hpp"
#include "controller/app/pool_lead.hpp"
#include "controller/app/run_engine.hpp"

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

/// Runs one TrainingRun on this machine from start to end, around a RunEngine:
///  1. serves Dispatch.Work, Control.Attach and the HTTP API;
///  2. leads the pool, and keeps totals and events in OUT;
///  3. ends when the engine is over or `stop` is requested, in order: dispatch, rollout workers,
///     sandboxes, policy, learner, GPU worker, Redis.
/// Thread: everything on `strand`, on the main thread. Life: run() must have returned before it
/// goes.
class RunController final : public EngineHost, public RunApi, public RunIndex {
 public:
  RunController(asio::any_io_executor strand, StopSource& stop, Clock& clock, RunSetup setup);

  /// Returns the process's exit code (docs/PROCESSES.md).
  Task<int> run();
  /// Names of what still runs, for the watchdog.
  std::string still_running() const;

  // EngineHost
  std::uint64_t epoch() const override { return epoch_; }
  std::optional<Trouble> pool_trouble() const override;
  const std::optional<lease::PoolSnapshot>& pool_snapshot() const override {
    return pool_.snapshot();
  }
  void say(const std::string& type, const nlohmann::json& data) override {
    events_.say(type, data);
  }
  void turned() override;
  // RunApi, RunIndex
  nlohmann::json run_view() const override { return run_json(engine_->facts()); }
  nlohmann::json live_rollouts() const override { return live_json(engine_->dispatcher()); }
  std::string run_name() const override { return setup_.file.run.name; }
  std::string run_uid() const override { return setup_.out.run_uid(); }
  TrajectoryClient& trajectories() override { return *trajectories_; }
  Resumed resume(const std::string& pause_id) override { return engine_->resume(pause_id); }
  void suspend() override { engine_->suspend(true); }
  std::vector<RunApi*> runs() override { return {this}; }
  std::vector<nlohmann::json> pool_views() const override;

 private:
  Task<bool> start_serving();
  Task<std::optional<std::uint64_t>> raise_epoch(std::uint64_t at_least);
  std::string log_of(const std::string& pod) const;
  Task<> end_in_order();
  void save_totals();
  int close_books();
  Task<> stop_serving();
  void write_run_json(const std::string& state);

  asio::any_io_executor strand_;
  StopSource& stop_;
  Clock& clock_;
  RunSetup setup_;
  std::int64_t started_unix_ms_;
  std::uint64_t epoch_ = 0;
  bool serving_ = false;
  bool ended_ = false;  ///< the end has begun
  TimePoint saved_;

  Metrics metrics_;
  ControllerMetrics handles_;
  EventFeed events_;
  Event over_;
  StopSource lead_stop_;
  Gate lead_gate_;
  StopSource rpc_stop_;
  Gate rpc_gate_;
  PoolLead pool_;
  std::unique_ptr<TrajectoryClient> trajectories_;
  HttpApi api_;
  DispatchService dispatch_service_;
  ControlService control_service_;
  std::unique_ptr<LocalPodBackend> backend_;
  std::unique_ptr<RunEngine> engine_;
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace swage::controller
