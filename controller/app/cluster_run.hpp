#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "controller/adapters/kube_pod_backend.hpp"
#include "controller/adapters/task_catalog.hpp"
#include "controller/app/cluster_world.hpp"
#include "controller/app/run_engine.hpp"

namespace swage::controller {

/// One TrainingRun of the cluster, as long as this process leads, around a RunEngine:
///  1. finalizer; then, again and again until nothing is in the way: the specification, the pool,
///     the tasks, the Service and the learner's claim. What is in the way stands in the conditions;
///  2. the engine, over pods of the API server;
///  3. status, conditions and Events; spec.suspend and the annotation swage.dev/resume; what was
///     counted stands in ConfigMap `<run>-totals`, at most five seconds old, for the next leader;
///  4. at the end: pods go, the summary stands in ConfigMap `<run>-summary`;
///  5. at the object's deletion: pods go, the lease queue forgets the run, then the finalizer goes.
/// Thread: the world's strand. Life: run() must have returned before it goes.
class ClusterRun final : public EngineHost, public RunApi {
 public:
  ClusterRun(ClusterWorld& world, k8s::Json object);
  /// Until the object is gone, or `stop`: then the pods stay for the next leader.
  Task<> run(StopSource& stop);
  /// A newer state of the object; null: it is gone.
  void changed(const k8s::Json* object) {
    object_.changed(object);
    moved_.notify();
  }

  // EngineHost
  std::uint64_t epoch() const override { return world_.epoch; }
  std::optional<Trouble> pool_trouble() const override;
  const std::optional<lease::PoolSnapshot>& pool_snapshot() const override;
  void say(const std::string& type, const nlohmann::json& data) override;
  void turned() override { moved_.notify(); }
  // RunApi
  nlohmann::json run_view() const override;
  nlohmann::json live_rollouts() const override;
  std::string run_name() const override { return owner_.name; }
  std::string run_uid() const override { return owner_.uid; }
  TrajectoryClient& trajectories() override { return *trajectories_; }
  Resumed resume(const std::string& pause_id) override;
  void suspend() override;

 private:
  bool deleting() const { return object_.gone() || object_.deleting(); }
  bool finished() const;
  Task<bool> prepare(StopSource& stop);
  std::optional<Trouble> parse();
  std::optional<Trouble> find_pool();
  Task<std::optional<Trouble>> apply_objects(StopSource& stop);
  Task<> execute(StopSource& stop);
  Task<> end(StopSource& stop);
  Task<bool> save_summary(StopSource& stop);
  Task<> clean_up(StopSource& stop);
  void obey_object();
  k8s::Json status() const;
  k8s::Json waiting_status() const;
  Task<std::optional<RunTotals>> earlier_totals(StopSource& stop);
  Task<std::optional<RunTotals>> read_totals(StopSource& stop);
  Task<> save_totals(StopSource& stop);
  k8s::Json data_object(const std::string& suffix, const std::string& file,
                        const k8s::Json& value) const;
  Task<> patch_suspend(bool suspended);

  ClusterWorld& world_;
  KeptObject object_;
  const OwnerRef& owner_;  ///< object_'s
  bool parsed_ = false;
  RunFile file_;
  TaskCatalog tasks_;
  std::optional<Trouble> refused_, pool_trouble_;
  StatusWriter writer_;
  k8s::Json saved_;  ///< the totals as they were written last
  std::optional<TimePoint> saved_at_;
  Event moved_;
  StopSource stop_;
  Gate gate_;
  std::unique_ptr<ClusterLayout> layout_;
  std::unique_ptr<TrajectoryClient> trajectories_;
  std::unique_ptr<KubePodBackend> backend_;
  std::unique_ptr<RunEngine> engine_;
};

}  // namespace swage::controller
