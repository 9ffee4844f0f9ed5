#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/learner_view.hpp"
#include "controller/core/workload_reconciler.hpp"

namespace swage::controller {

/// One condition of a TrainingRun or a ProfilingPool, without the time at which it last changed.
struct Condition {
  std::string type;
  bool status = false;
  std::string reason;   ///< CamelCase
  std::string message;  ///< for people, with the remedy
  bool operator==(const Condition&) const = default;
};

/// Something that is wrong, with its reason; nothing is.
struct Trouble {
  std::string reason;
  std::string message;
};

/// What the conditions of a run are made of.
struct RunSituation {
  std::optional<Trouble> refused;  ///< the object itself cannot be run
  std::optional<Trouble> pool;     ///< its pool is absent, another kind, or its queue unreachable
  bool ready = false;              ///< all pods serve
  std::map<std::string, WorkloadReconciler::Observed> pods;
  bool circuit_open = false;
  Trouble sandbox;                ///< why the newest sandbox does not start; empty: it does
  bool network_isolated = false;  ///< sandboxes have to prove it
  std::string leak;               ///< what one could reach all the same; empty: nothing
  bool attached = false;
  std::vector<LearnerCondition> learner;
  bool over = false;
  std::string phase;    ///< of an ended run: its reason
  std::string failure;  ///< why it failed
};

/// Accepted, PoolAvailable, WorkloadsReady, SandboxesHealthy, NetworkIsolated, LearnerReachable,
/// Complete, then the learner's own.
std::vector<Condition> run_conditions(const RunSituation& situation);

}  // namespace swage::controller
