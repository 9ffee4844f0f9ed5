#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/base/time.hpp"
#include "common/metrics/metrics.hpp"
#include "controller/core/dispatcher.hpp"
#include "controller/core/sandbox_pool.hpp"
#include "gpu_pool/lease/api/leader_queue.hpp"

namespace swage::controller {

/// Handles of the controller's and the pool's metrics (docs/METRICS.md). Thread: one strand.
class ControllerMetrics {
 public:
  ControllerMetrics(Metrics& metrics, std::string pool);

  void reconciled(Duration took);
  void sandbox_claimed(Duration waited);
  void sandboxes(const SandboxCounts& counts, bool circuit_open);
  void assignments(const Dispatcher& dispatcher);
  void pool(const std::optional<lease::PoolSnapshot>& snapshot, bool reachable);

 private:
  std::string pool_;
  prometheus::Histogram& reconcile_seconds_;
  prometheus::Histogram& claim_seconds_;
  prometheus::Gauge& circuit_open_;
  std::map<std::string, prometheus::Gauge*> sandbox_pods_, assignments_, gpus_;
  std::map<std::string, prometheus::Counter*> leases_;
  prometheus::Gauge& waiting_;
  prometheus::Gauge& demand_;
  prometheus::Gauge& epoch_;
  prometheus::Gauge& frozen_;
  prometheus::Gauge& utilisation_;
};

}  // namespace swage::controller
