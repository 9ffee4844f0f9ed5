#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "controller/api/resources.hpp"
#include "controller/core/conditions.hpp"
#include "controller/core/dispatcher.hpp"
#include "controller/core/run_totals.hpp"
#include "controller/core/sandbox_pool.hpp"
#include "controller/core/workload_reconciler.hpp"
#include "gpu_pool/lease/api/leader_queue.hpp"

namespace swage::controller {

enum class RunPhase { pending, running, paused, suspended, succeeded, failed, terminating };
const char* phase_name(RunPhase phase);  ///< `Pending`, …

/// Everything that a view of a run is made of, borrowed for one call.
struct RunFacts {
  const RunFile& file;
  const std::string& run_uid;
  RunPhase phase;
  const Dispatcher& dispatcher;
  const WorkloadReconciler& workloads;
  const RunTotals& totals;
  SandboxCounts sandboxes;
  bool circuit_open = false;
  Trouble sandbox;  ///< why the newest sandbox does not start; empty: it does
  std::optional<Trouble> pool_trouble;
  bool network_isolated = true;
  const std::string& leak;  ///< what a sandbox could reach and must not
  std::uint64_t leader_epoch = 0;
  std::int64_t started_unix_ms = 0;
  std::int64_t completed_unix_ms = 0;  ///< 0 while it runs
  const std::string& failure;          ///< why it failed, empty if it did not
  std::uint64_t evaluation_rollouts = 0;
  const std::optional<lease::PoolSnapshot>& pool;
};

/// The TrainingRun's status, conditions without times.
nlohmann::json status_json(const RunFacts& facts);
nlohmann::json condition_json(const Condition& condition);

/// The run as GET /api/v1/runs/{run} shows it: name, namespace, uid, spec in short, status as the
/// TrainingRun's status holds it, and its pods.
nlohmann::json run_json(const RunFacts& facts);
/// Rollouts that are on their way, as GET /api/v1/runs/{run}/rollouts shows them under `live`.
nlohmann::json live_json(const Dispatcher& dispatcher);
nlohmann::json pool_json(const ProfilingPool& pool,
                         const std::optional<lease::PoolSnapshot>& snapshot, bool reachable);
/// summary.json.
nlohmann::json summary_json(const RunFacts& facts, double wall_seconds);

/// `2025-01-31T12:00:00Z`.
std::string rfc3339(std::int64_t unix_ms);

}  // namespace swage::controller
