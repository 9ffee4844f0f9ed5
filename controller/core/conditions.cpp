#include "controller/core/conditions.hpp"

#include <utility>

namespace swage::controller {
namespace {

Condition from(const std::string& type, const std::optional<Trouble>& trouble,
               const std::string& well) {
  if (trouble) return {type, false, trouble->reason, trouble->message};
  return {type, true, well, ""};
}

/// The first pod that is kept from starting is the reason; else the first that does not serve yet.
Condition workloads(const RunSituation& situation) {
  if (situation.ready) return {"WorkloadsReady", true, "AllReady", ""};
  for (const auto& [name, pod] : situation.pods)
    if (!pod.reason.empty() && pod.phase != PodPhase::ready)
      return {"WorkloadsReady", false, pod.reason, name + ": " + pod.detail};
  for (const auto& [name, pod] : situation.pods)
    if (pod.phase != PodPhase::ready)
      return {"WorkloadsReady", false, "Starting", "waits for " + name};
  return {"WorkloadsReady", false, "Starting", ""};
}

Condition sandboxes(const RunSituation& situation) {
  if (!situation.sandbox.reason.empty())
    return {"SandboxesHealthy", false, situation.sandbox.reason, situation.sandbox.message};
  if (situation.circuit_open)
    return {"SandboxesHealthy", false, "CircuitOpen",
            "more than half of the new sandboxes die; one is tried each 10 s. See the events of "
            "the sandbox pods"};
  return {"SandboxesHealthy", true, "Healthy", ""};
}

Condition network(const RunSituation& situation) {
  if (!situation.network_isolated)
    return {"NetworkIsolated", false, "NotRequired",
            "sandbox.requireNetworkPolicy is false: sandboxes can reach the network unless the "
            "cluster's own policies forbid it"};
  if (!situation.leak.empty()) return {"NetworkIsolated", false, "Reachable", situation.leak};
  return {"NetworkIsolated", true, "PolicyRequired", ""};
}

}  // namespace

std::vector<Condition> run_conditions(const RunSituation& situation) {
  std::vector<Condition> out;
  out.push_back(from("Accepted", situation.refused, "Valid"));
  out.push_back(from("PoolAvailable", situation.pool, "Reachable"));
  out.push_back(workloads(situation));
  out.push_back(sandboxes(situation));
  out.push_back(network(situation));
  out.push_back({"LearnerReachable", situation.attached,
                 situation.attached ? "Attached" : "NotAttached",
                 situation.attached ? "" : "the learner has not called yet"});
  out.push_back({"Complete", situation.over, situation.over ? situation.phase : "Running",
                 situation.failure});
  for (const auto& own : situation.learner)
    out.push_back({own.type, own.status, own.reason, own.message});
  return out;
}

}  // namespace swage::controller
