#include "rollout_worker/app/rollout_metrics.hpp"

#include <array>

#include "rollout_worker/core/repetition.hpp"

namespace swage::rollout_worker {
namespace {

constexpr std::array kTools = {"Bash",  "BashOutput",   "KillBash",  "Read",
                               "Write", "Edit",         "MultiEdit", "Glob",
                               "Grep",  "NotebookEdit", "TodoWrite"};
constexpr std::array kEnds = {EndReason::no_tool_call,  EndReason::schema_violation,
                              EndReason::turn_limit,    EndReason::context_full,
                              EndReason::wall_clock,    EndReason::cancelled,
                              EndReason::infrastructure};

std::string known_tool(const std::string& name) {
  for (const auto* tool : kTools)
    if (name == tool) return name;
  return "other";
}

/// Without what follows a colon: reasons and fields are not labels.
std::string known_cause(const std::string& cause) { return cause.substr(0, cause.find(':')); }

}  // namespace

RolloutMetrics::RolloutMetrics(Metrics& metrics)
    : metrics_(metrics),
      active_(metrics.gauge("swage_rollout_active", "Rollouts in hand.")),
      clipped_(metrics.counter("swage_rollout_length_clipped_total",
                               "Rollouts cut by a limit on turns, context or time.")),
      turns_(metrics.histogram("swage_rollout_turns", "Turns of a trajectory.",
                               {1, 2, 4, 6, 8, 10, 20, 40, 80, 150, 200})),
      tokens_(
          metrics.histogram("swage_rollout_tokens", "Tokens of a trajectory.",
                            {128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072})),
      reward_(
          metrics.histogram("swage_rollout_reward", "Final reward of a rollout.", {-1, 1, 2, 3})),
      repetition_(metrics.histogram("swage_rollout_repetition_ratio",
                                    "Share of redundant turns of a trajectory.",
                                    {0, 0.05, 0.1, 0.2, 0.5, 1})),
      lease_hold_(metrics.histogram("swage_pool_lease_hold_seconds",
                                    "From a granted lease to the end of its release",
                                    {0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 180, 300})),
      ab_noise_(metrics.histogram("swage_judge_ab_noise_ratio",
                                  "Half the width of the measured interval of candidate / eager, "
                                  "as a share of its median",
                                  {0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5})) {
  for (const auto mode : {EvaluationMode::verify, EvaluationMode::profile, EvaluationMode::score})
    lease_wait(mode);
  for (const auto reason : kEnds) ended(std::string(name_of(reason)));
}

prometheus::Histogram& RolloutMetrics::lease_wait(EvaluationMode mode) {
  return metrics_.histogram("swage_pool_lease_wait_seconds",
                            "From asking for a lease to holding it, by the queue's class",
                            {0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 1800},
                            {{"class", std::string(name_of(mode))}});
}

prometheus::Counter& RolloutMetrics::ended(const std::string& reason) {
  return metrics_.counter("swage_rollout_ended_total", "Rollouts by how they ended.",
                          {{"reason", reason}});
}

void RolloutMetrics::rollout_began() { active_.Increment(); }

void RolloutMetrics::rollout_ended(const RolloutDone& done) {
  active_.Decrement();
  ended(std::string(name_of(done.reason))).Increment();
  if (is_truncation(done.reason)) clipped_.Increment();
  if (done.reward) reward_.Observe(*done.reward);
  if (!done.infrastructure_cause.empty())
    metrics_
        .counter("swage_rollout_infrastructure_failures_total",
                 "Rollouts lost to something that is not the agent's doing.",
                 {{"cause", known_cause(done.infrastructure_cause)}})
        .Increment();
}

void RolloutMetrics::rollout_threw() {
  metrics_
      .counter("swage_rollout_infrastructure_failures_total",
               "Rollouts lost to something that is not the agent's doing.",
               {{"cause", "exception"}})
      .Increment();
}

void RolloutMetrics::trajectory_made(const Trajectory& trajectory) {
  if (!trajectory.infrastructure_failure.empty()) return;
  turns_.Observe(static_cast<double>(trajectory.turns.size()));
  tokens_.Observe(static_cast<double>(trajectory.token_ids.size()));
  repetition_.Observe(redundant_share(trajectory.turns));
}

void RolloutMetrics::tool_returned(const std::string& name, const ToolOutcome& outcome) {
  const auto tool = known_tool(name);
  const auto* result = !outcome.schema_valid ? "malformed" : outcome.ok ? "ok" : "failed";
  metrics_
      .counter("swage_rollout_tool_calls_total", "Tool calls by tool and result.",
               {{"tool", tool}, {"result", result}})
      .Increment();
  metrics_
      .histogram("swage_rollout_tool_seconds", "Time in a tool, without lease waits.",
                 seconds_buckets(), {{"tool", tool}})
      .Observe(outcome.wall_ms / 1e3);
  if (outcome.compile_count == 0) return;
  const auto* cache = outcome.compile_cache_hits == outcome.compile_units ? "hit"
                      : outcome.compile_cache_hits > 0                    ? "partial"
                                                                          : "miss";
  metrics_
      .histogram("swage_compile_seconds", "Time in the sandbox's compile service, per tool call.",
                 seconds_buckets(), {{"result", outcome.ok ? "ok" : "failed"}, {"cache", cache}})
      .Observe(outcome.compile_ms / 1e3);
}

void RolloutMetrics::lease_waited(EvaluationMode mode, double seconds) {
  lease_wait(mode).Observe(seconds);
  metrics_
      .histogram("swage_evaluation_seconds", "Time of an evaluation by phase.", seconds_buckets(),
                 {{"mode", std::string(name_of(mode))}, {"phase", "queue"}})
      .Observe(seconds);
}

void RolloutMetrics::lease_held(double seconds) { lease_hold_.Observe(seconds); }

void RolloutMetrics::judged(const Judgement& judgement, double seconds) {
  const std::string mode(name_of(judgement.mode));
  metrics_
      .counter("swage_evaluation_total", "Verdicts by mode and code.",
               {{"mode", mode}, {"verdict", judgement.code}})
      .Increment();
  metrics_
      .histogram("swage_evaluation_seconds", "Time of an evaluation by phase.", seconds_buckets(),
                 {{"mode", mode}, {"phase", "judge"}})
      .Observe(seconds);
  const auto speedup = [&](const char* baseline, const std::optional<MeasuredRatio>& ratio) {
    if (!ratio || ratio->median <= 0) return;
    metrics_
        .histogram("swage_evaluation_speedup", "Measured speed-up of right kernels.",
                   {0.25, 0.5, 0.8, 0.95, 1, 1.05, 1.25, 1.5, 2, 3, 5, 10},
                   {{"baseline", baseline}})
        .Observe(1 / ratio->median);
  };
  speedup("eager", judgement.to_eager);
  speedup("compile", judgement.to_compile);
  if (const auto& eager = judgement.to_eager; eager && eager->median > 0)
    ab_noise_.Observe((eager->hi - eager->lo) / (2 * eager->median));
  for (const auto& rule : judgement.policy_rules)
    metrics_.counter("swage_judge_violations_total", "Policy findings by rule.", {{"rule", rule}})
        .Increment();
}

void RolloutMetrics::evaluation_failed(EvaluationMode mode) {
  metrics_
      .counter("swage_evaluation_total", "Verdicts by mode and code.",
               {{"mode", std::string(name_of(mode))}, {"verdict", "none"}})
      .Increment();
}

}  // namespace swage::rollout_worker
