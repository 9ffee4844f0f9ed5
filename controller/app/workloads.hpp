#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/asio/clock.hpp"
#include "common/asio/gate.hpp"
#include "controller/api/pod_backend.hpp"
#include "controller/api/run_layout.hpp"
#include "controller/app/config.hpp"
#include "controller/core/workload_reconciler.hpp"

namespace swage::controller {

/// Carries out what WorkloadReconciler decides: starts and restarts the run's long-lived pods.
/// Thread: the strand of its gate. Life: await stop() for each component before it goes.
class Workloads {
 public:
  /// changed: called after a start that failed, so that the owner looks again.
  Workloads(PodBackend& backend, const RunLayout& layout, Clock& clock, Gate& gate,
            RestartPolicy policy, std::function<void()> changed);

  /// A pod of an earlier controller: kept, or ended when nobody wants it.
  void adopt(const LivePod& pod);
  void pump();
  void observed(const PodEvent& event);
  /// Ends the pods of one component and starts them no more.
  Task<> stop(Component component, std::chrono::milliseconds grace);

  const WorkloadReconciler& reconciler() const { return reconciler_; }
  /// gRPC targets of the ready pods of a component, by their names' order.
  std::vector<std::string> ready_addresses(Component component) const;

 private:
  Task<> start(PodSpec spec);
  Task<> remove(std::string name, std::string uid, std::chrono::milliseconds grace);

  PodBackend& backend_;
  const RunLayout& layout_;
  Clock& clock_;
  Gate& gate_;
  std::function<void()> changed_;
  WorkloadReconciler reconciler_;
};

}  // namespace swage::controller
