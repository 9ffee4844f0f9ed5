#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/asio/gate.hpp"
#include "controller/adapters/kube_pod_backend.hpp"
#include "controller/app/cluster_world.hpp"
#include "controller/app/pool_lead.hpp"
#include "controller/core/pool_reconciler.hpp"

namespace swage::controller {

/// One ProfilingPool, as long as this process leads:
///  1. finalizer and headless Service;
///  2. leads its lease queue in Redis;
///  3. makes GPU pods and lets them go as PoolReconciler decides, forgets those that are gone;
///  4. status and conditions; at the object's deletion all pods go, then the finalizer.
/// Thread: the world's strand. Life: run() must have returned before it goes.
class PoolKeeper {
 public:
  PoolKeeper(ClusterWorld& world, k8s::Json object);
  Task<> run(StopSource& stop);
  /// A newer state of the object; null: it is gone.
  void changed(const k8s::Json* object);

  /// Nothing: its specification cannot be used.
  const std::optional<ProfilingPool>& pool() const { return pool_; }
  std::optional<Trouble> trouble() const;
  /// The newest look at its lease queue; nothing: none yet.
  const std::optional<lease::PoolSnapshot>& snapshot() const;
  nlohmann::json view() const;
  Task<bool> forget_run(std::string run_uid);

 private:
  Task<> serve(StopSource& stop);
  Task<> pod_loop();
  void start_lead();
  Task<> turn(StopSource& stop);
  Task<> create(PodSpec spec);
  Task<> remove(std::string name, std::string uid);
  Task<> forget_gone();
  Task<> end_all();
  void parse();
  std::map<std::string, GpuView> gpus() const;
  std::uint64_t demand() const;
  k8s::Json status() const;
  std::vector<Condition> conditions() const;
  Task<std::optional<std::uint64_t>> raise_epoch(std::uint64_t at_least);

  struct Pod {
    std::string uid;
    PodPhase phase = PodPhase::pending;
    Trouble trouble;
    bool ending = false;
  };

  ClusterWorld& world_;
  KeptObject object_;
  const OwnerRef& owner_;  ///< object_'s
  std::optional<ProfilingPool> pool_;
  std::optional<Trouble> invalid_, refused_;
  bool applied_ = false;  ///< the Service is there
  std::uint64_t epoch_ = 0;
  PoolReconciler reconciler_;
  StatusWriter writer_;
  std::map<std::string, Pod> pods_;
  std::set<std::string> to_forget_;  ///< GPUs whose pods are gone
  StopSource stop_;
  Gate gate_;
  std::unique_ptr<PoolLead> lead_;
  std::unique_ptr<KubePodBackend> backend_;
};

}  // namespace swage::controller
