#include "controller/app/run_view.hpp"

#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>

namespace swage::controller {
namespace {

using nlohmann::json;

/// Decimals stand as strings in a status.
json decimal(const std::optional<double>& value) {
  if (!value) return nullptr;
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", *value);
  return text;
}

/// The same of a count.
json whole(const std::optional<double>& value) {
  return value ? json(std::to_string(std::lround(*value))) : json(nullptr);
}

json number(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json conditions(const RunFacts& facts) {
  RunSituation situation;
  situation.pool = facts.pool_trouble;
  situation.ready = facts.workloads.all_ready();
  situation.pods = facts.workloads.pods();
  situation.circuit_open = facts.circuit_open;
  situation.sandbox = facts.sandbox;
  situation.network_isolated = facts.network_isolated;
  situation.leak = facts.leak;
  situation.attached = facts.dispatcher.attached();
  situation.learner = facts.dispatcher.status().conditions;
  situation.over = facts.phase == RunPhase::succeeded || facts.phase == RunPhase::failed;
  situation.phase = phase_name(facts.phase);
  situation.failure = facts.failure;
  auto out = json::array();
  for (const auto& one : run_conditions(situation)) out.push_back(condition_json(one));
  return out;
}

const char* pod_phase_name(PodPhase phase) {
  switch (phase) {
    case PodPhase::pending:
      return "Pending";
    case PodPhase::running:
      return "Running";
    case PodPhase::ready:
      return "Ready";
    case PodPhase::succeeded:
      return "Succeeded";
    case PodPhase::failed:
      return "Failed";
  }
  return "";
}

json pods(const WorkloadReconciler& workloads) {
  auto out = json::array();
  for (const auto& [name, pod] : workloads.pods())
    out.push_back(
        {{"name", name},
         {"component", component_name(pod.component)},
         {"phase", pod_phase_name(pod.phase)},
         {"pid", pod.pid},
         {"http",
          pod.http_port == 0 ? json(nullptr) : json("127.0.0.1:" + std::to_string(pod.http_port))},
         {"restarts", pod.restarts}});
  return out;
}

}  // namespace

const char* phase_name(RunPhase phase) {
  switch (phase) {
    case RunPhase::pending:
      return "Pending";
    case RunPhase::running:
      return "Running";
    case RunPhase::paused:
      return "Paused";
    case RunPhase::suspended:
      return "Suspended";
    case RunPhase::succeeded:
      return "Succeeded";
    case RunPhase::failed:
      return "Failed";
    case RunPhase::terminating:
      return "Terminating";
  }
  return "Pending";
}

json status_json(const RunFacts& facts) {
  const auto& learner = facts.dispatcher.status();
  const auto& counters = facts.dispatcher.counters();
  json out{
      {"phase", phase_name(facts.phase)},
      {"stage", stage_name(learner.stage)},
      {"step", learner.step},
      {"stepsTotal", learner.steps_total},
      {"progress", learner.progress},
      {"weightVersion", learner.weight_version},
      {"rewardMean", decimal(learner.reward_mean)},
      {"rewardAfterRft", decimal(learner.reward_after_rft)},
      {"rewardFinal", decimal(learner.reward_final)},
      {"lengthMean", whole(facts.totals.length_mean())},
      {"leases",
       {{"leased", facts.pool ? facts.pool->leased : 0},
        {"waiting", facts.pool ? facts.pool->waiting : 0}}},
      {"target", learner.target},
      {"accepted", learner.accepted},
      {"trajectories", learner.trajectories},
      {"rollouts",
       {{"running", facts.dispatcher.live().size()},
        {"completed", facts.dispatcher.accepted_total()},
        {"reissued", facts.totals.reissued + counters.reissued},
        {"infrastructureFailed",
         facts.totals.infrastructure_failures + counters.infrastructure_failed},
        {"groupsReplaced", facts.totals.groups_replaced + counters.groups_replaced}}},
      {"sandboxes",
       {{"warm", facts.sandboxes.warm}, {"claimed", facts.sandboxes.claimed}, {"quarantined", 0}}},
      {"leaderEpoch", facts.leader_epoch},
      {"startTime", rfc3339(facts.started_unix_ms)},
      {"completionTime",
       facts.completed_unix_ms == 0 ? json(nullptr) : json(rfc3339(facts.completed_unix_ms))},
      {"conditions", conditions(facts)}};
  if (learner.pause)
    out["pause"] = {{"id", learner.pause->id},
                    {"reason", learner.pause->reason},
                    {"message", learner.pause->message}};
  return out;
}

json condition_json(const Condition& condition) {
  return {{"type", condition.type},
          {"status", condition.status ? "True" : "False"},
          {"reason", condition.reason},
          {"message", condition.message}};
}

std::string rfc3339(std::int64_t unix_ms) {
  const std::time_t seconds = unix_ms / 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

json run_json(const RunFacts& facts) {
  const auto& run = facts.file.run;
  return {{"name", run.name},
          {"namespace", run.space},
          {"uid", facts.run_uid},
          {"spec",
           {{"preset", learner::to_string(run.learning.preset)},
            {"deviceKind", device_kind_name(run.device_kind)},
            {"seed", run.seed},
            {"model", run.model_source},
            {"pool", facts.file.pool.full_name()}}},
          {"status", status_json(facts)},
          {"pods", pods(facts.workloads)}};
}

json live_json(const Dispatcher& dispatcher) {
  auto out = json::array();
  for (const auto& [id, rollout] : dispatcher.live())
    out.push_back({{"rollout_id", id},
                   {"attempt", rollout.attempt.number},
                   {"state", rollout_state_name(rollout.state)},
                   {"worker", rollout.worker},
                   {"turns", rollout.turns},
                   {"tokens", rollout.tokens}});
  return out;
}

json pool_json(const ProfilingPool& pool, const std::optional<lease::PoolSnapshot>& snapshot,
               bool reachable) {
  json out{{"name", pool.name},
           {"namespace", pool.space},
           {"deviceKind", device_kind_name(pool.device_kind)},
           {"reachable", reachable}};
  if (!snapshot) return out;
  auto gpus = json::array();
  std::map<std::string, int> states;
  for (const auto& gpu : snapshot->gpus) {
    gpus.push_back({{"gpu", gpu.gpu.str()},
                    {"state", gpu.state},
                    {"address", gpu.address},
                    {"request", gpu.request.empty() ? json(nullptr) : json(gpu.request.str())}});
    ++states[gpu.state];
  }
  out["gpus"] = std::move(gpus);
  out["status"] = {{"replicas", snapshot->gpus.size()},
                   {"gpus", states},
                   {"waiting", snapshot->waiting},
                   {"leased", snapshot->leased},
                   {"demand", snapshot->waiting + snapshot->leased},
                   {"oldestWaitMs", snapshot->oldest_wait.count()},
                   {"epoch", snapshot->epoch},
                   {"grants", snapshot->counter},
                   {"counters", snapshot->counters}};
  return out;
}

json summary_json(const RunFacts& facts, double wall_seconds) {
  const auto& learner = facts.dispatcher.status();
  const auto& counters = facts.dispatcher.counters();
  auto stages = json::array();
  std::uint64_t steps = 0;
  for (const auto& stage : facts.totals.stages) {
    if (is_ppo(stage.stage)) steps += stage.steps;
    const auto ended = stage.ended_unix_ms == 0 ? facts.completed_unix_ms : stage.ended_unix_ms;
    stages.push_back({{"stage", stage_name(stage.stage)},
                      {"seconds", static_cast<double>(ended - stage.started_unix_ms) / 1000.0},
                      {"steps", stage.steps}});
  }
  return {{"run", facts.file.run.name},
          {"run_uid", facts.run_uid},
          {"wall_seconds", wall_seconds},
          {"stages", std::move(stages)},
          {"steps", steps},
          {"reward_after_rft", number(learner.reward_after_rft)},
          {"reward_final", number(learner.reward_final)},
          {"evaluation_rollouts", facts.evaluation_rollouts},
          {"reward_is",
           "mean of " + std::to_string(facts.evaluation_rollouts) + " evaluation rollouts"},
          {"rollouts", facts.dispatcher.accepted_total()},
          {"trajectories", learner.trajectories},
          {"evaluations", facts.totals.evaluations},
          {"verdicts", facts.totals.verdicts},
          {"compile",
           {{"count", facts.totals.compile_count},
            {"units", facts.totals.compile_units},
            {"cache_hits", facts.totals.compile_cache_hits}}},
          {"duplicate_trajectories_refused", facts.totals.duplicates_refused},
          {"infrastructure_failures",
           facts.totals.infrastructure_failures + counters.infrastructure_failed},
          {"reissued", facts.totals.reissued + counters.reissued},
          {"isolation", facts.totals.isolation},
          {"trust", facts.totals.trust},
          {"seed", facts.file.run.seed}};
}

}  // namespace swage::controller
