#include "controller/app/controller_metrics.hpp"

#include <algorithm>
#include <utility>

namespace swage::controller {
namespace {

constexpr const char* kGpuStates[] = {"unconfirmed", "idle",        "leased", "suspect",
                                      "drained",     "quarantined", "absent"};
constexpr const char* kLeaseResults[] = {"granted",   "released", "expired",
                                         "cancelled", "timeout",  "dead"};

}  // namespace

ControllerMetrics::ControllerMetrics(Metrics& metrics, std::string pool)
    : pool_(std::move(pool)),
      reconcile_seconds_(metrics.histogram("swage_controller_reconcile_seconds",
                                           "Time of one pass of a reconcile loop",
                                           {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1},
                                           {{"kind", "TrainingRun"}, {"result", "ok"}})),
      claim_seconds_(metrics.histogram("swage_sandbox_claim_seconds",
                                       "Wait of a planned rollout for a warm sandbox",
                                       seconds_buckets())),
      circuit_open_(metrics.gauge("swage_sandbox_circuit_open",
                                  "1 while too many sandboxes die and creation is throttled")),
      waiting_(metrics.gauge("swage_pool_waiting", "Requests that wait for a lease",
                             {{"pool", pool_}, {"class", "all"}})),
      demand_(metrics.gauge("swage_pool_demand", "Requests that wait or hold a lease",
                            {{"pool", pool_}})),
      epoch_(metrics.gauge("swage_pool_epoch", "Epoch installed in the pool", {{"pool", pool_}})),
      frozen_(metrics.gauge("swage_pool_grants_frozen", "1 while the pool grants nothing",
                            {{"pool", pool_}})),
      utilisation_(metrics.gauge("swage_pool_utilisation_ratio", "Leased GPUs of all usable ones",
                                 {{"pool", pool_}})) {
  metrics.gauge("swage_controller_leader", "1 on the controller that leads").Set(1);
  for (const auto* state : {"starting", "warm", "claimed", "ending"})
    sandbox_pods_[state] =
        &metrics.gauge("swage_sandbox_pods", "Sandbox pods by state", {{"state", state}});
  for (const auto* state : {"planned", "claimed", "sent", "running"})
    assignments_[state] =
        &metrics.gauge("swage_assignments", "Rollouts on their way by state", {{"state", state}});
  for (const auto* state : kGpuStates)
    gpus_[state] = &metrics.gauge("swage_pool_gpus", "GPUs of the pool by state",
                                  {{"pool", pool_}, {"state", state}});
  for (const auto* result : kLeaseResults)
    leases_[result] = &metrics.counter("swage_pool_leases_total", "Lease requests by result",
                                       {{"result", result}});
}

void ControllerMetrics::reconciled(Duration took) {
  reconcile_seconds_.Observe(std::chrono::duration<double>(took).count());
}

void ControllerMetrics::sandbox_claimed(Duration waited) {
  claim_seconds_.Observe(std::chrono::duration<double>(waited).count());
}

void ControllerMetrics::sandboxes(const SandboxCounts& counts, bool circuit_open) {
  sandbox_pods_["starting"]->Set(static_cast<double>(counts.starting));
  sandbox_pods_["warm"]->Set(static_cast<double>(counts.warm));
  sandbox_pods_["claimed"]->Set(static_cast<double>(counts.claimed));
  sandbox_pods_["ending"]->Set(static_cast<double>(counts.ending));
  circuit_open_.Set(circuit_open ? 1 : 0);
}

void ControllerMetrics::assignments(const Dispatcher& dispatcher) {
  std::map<std::string, double> counts;
  for (const auto& [id, rollout] : dispatcher.live()) ++counts[rollout_state_name(rollout.state)];
  for (const auto& [state, gauge] : assignments_) gauge->Set(counts[state]);
}

void ControllerMetrics::pool(const std::optional<lease::PoolSnapshot>& snapshot, bool reachable) {
  frozen_.Set(reachable && snapshot && snapshot->epoch > 0 ? 0 : 1);
  if (!snapshot) return;
  std::map<std::string, double> states;
  for (const auto& gpu : snapshot->gpus) ++states[gpu.state];
  for (const auto& [state, gauge] : gpus_) gauge->Set(states[state]);
  const double usable = states["idle"] + states["leased"] + states["suspect"];
  utilisation_.Set(usable > 0 ? states["leased"] / usable : 0);
  waiting_.Set(snapshot->waiting);
  demand_.Set(snapshot->waiting + snapshot->leased);
  epoch_.Set(static_cast<double>(snapshot->epoch));
  for (const auto& [result, counter] : leases_) {
    const auto found = snapshot->counters.find(result);
    if (found == snapshot->counters.end()) continue;
    // Redis counts from its own start: a restart there begins at zero again.
    const double behind = static_cast<double>(found->second) - counter->Value();
    if (behind > 0) counter->Increment(behind);
  }
}

}  // namespace swage::controller
