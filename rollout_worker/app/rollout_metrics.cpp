#include "rollout_worker/app/rollout_metrics.hpp"

#include <algorithm>
#include <array>

#include "rollout_worker/core/repetition.hpp"
#include "sandbox/api/tool_schema.hpp"

namespace swage::rollout_worker {
namespace {

constexpr std::array kEnds = {EndReason::no_tool_call,  EndReason::schema_violation,
                              EndReason::turn_limit,    EndReason::context_full,
                              EndReason::wall_clock,    EndReason::cancelled,
                              EndReason::infrastructure};

std::string known_tool(const std::string& name) {
  const auto& names = sandbox::tool_names();
  return std::ranges::find(names, name) != names.end() ? name : "other";
}

/// Without what follows a colon: reasons and fields are not labels.
std::string known_cause(const std::string& cause) { return cause.substr(0, cause.find(':')); }

using Values = std::vector<std::string>;
using Known = std::vector<Values>;

/// One list of one value for each.
Known each(const Values& values) {
  Known out;
  for (const auto& value : values) out.push_back(Values(1, value));
  return out;
}

/// Every combination of both.
Known times(const Known& left, const Known& right) {
  Known out;
  for (const auto& some : left)
    for (const auto& more : right) {
      out.push_back(some);
      out.back().insert(out.back().end(), more.begin(), more.end());
    }
  return out;
}

Known each_tool() {
  auto tools = sandbox::tool_names();
  tools.emplace_back("other");
  return each(tools);
}

Known each_mode() {
  Known out;
  for (const auto mode : {EvaluationMode::verify, EvaluationMode::profile, EvaluationMode::score})
    out.push_back(Values(1, std::string(name_of(mode))));
  return out;
}

Known each_end() {
  Known out;
  for (const auto reason : kEnds) out.push_back(Values(1, std::string(name_of(reason))));
  return out;
}

}  // namespace

RolloutMetrics::RolloutMetrics(Metrics& metrics)
    : active_(metrics.gauge("swage_rollout_active", "Rollouts in hand.")),
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
                                  {0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5})),
      ended_(
          [&metrics](const Values& v) -> prometheus::Counter& {
            return metrics.counter("swage_rollout_ended_total", "Rollouts by how they ended.",
                                   {{"reason", v[0]}});
          },
          each_end()),
      failures_(
          [&metrics](const Values& v) -> prometheus::Counter& {
            return metrics.counter("swage_rollout_infrastructure_failures_total",
                                   "Rollouts lost to something that is not the agent's doing.",
                                   {{"cause", v[0]}});
          },
          each({"exception"})),
      tool_calls_(
          [&metrics](const Values& v) -> prometheus::Counter& {
            return metrics.counter("swage_rollout_tool_calls_total",
                                   "Tool calls by tool and result.",
                                   {{"tool", v[0]}, {"result", v[1]}});
          },
          times(each_tool(), each({"ok", "failed", "malformed"}))),
      verdicts_(
          [&metrics](const Values& v) -> prometheus::Counter& {
            return metrics.counter("swage_evaluation_total", "Verdicts by mode and code.",
                                   {{"mode", v[0]}, {"verdict", v[1]}});
          },
          times(each_mode(), each({"ok", "none"}))),
      violations_(
          [&metrics](const Values& v) -> prometheus::Counter& {
            return metrics.counter("swage_judge_violations_total", "Policy findings by rule.",
                                   {{"rule", v[0]}});
          },
          {}),
      tool_seconds_(
          [&metrics](const Values& v) -> prometheus::Histogram& {
            return metrics.histogram("swage_rollout_tool_seconds",
                                     "Time in a tool, without lease waits.", seconds_buckets(),
                                     {{"tool", v[0]}});
          },
          each_tool()),
      compile_seconds_(
          [&metrics](const Values& v) -> prometheus::Histogram& {
            return metrics.histogram("swage_compile_seconds",
                                     "Time in the sandbox's compile service, per tool call.",
                                     seconds_buckets(), {{"result", v[0]}, {"cache", v[1]}});
          },
          times(each({"ok", "failed"}), each({"hit", "partial", "miss"}))),
      lease_wait_(
          [&metrics](const Values& v) -> prometheus::Histogram& {
            return metrics.histogram(
                "swage_pool_lease_wait_seconds",
                "From asking for a lease to holding it, by the queue's class",
                {0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 1800},
                {{"class", v[0]}});
          },
          each_mode()),
      evaluation_seconds_(
          [&metrics](const Values& v) -> prometheus::Histogram& {
            return metrics.histogram("swage_evaluation_seconds", "Time of an evaluation by phase.",
                                     seconds_buckets(), {{"mode", v[0]}, {"phase", v[1]}});
          },
          times(each_mode(), each({"queue", "judge"}))),
      speedup_(
          [&metrics](const Values& v) -> prometheus::Histogram& {
            return metrics.histogram(
                "swage_evaluation_speedup", "Measured speed-up of right kernels.",
                {0.25, 0.5, 0.8, 0.95, 1, 1.05, 1.25, 1.5, 2, 3, 5, 10}, {{"baseline", v[0]}});
          },
          each({"eager", "compile"})) {}

void RolloutMetrics::rollout_began() { active_.Increment(); }

void RolloutMetrics::rollout_ended(const RolloutDone& done) {
  active_.Decrement();
  ended_.at({std::string(name_of(done.reason))}).Increment();
  if (is_truncation(done.reason)) clipped_.Increment();
  if (done.reward) reward_.Observe(*done.reward);
  if (!done.infrastructure_cause.empty())
    failures_.at({known_cause(done.infrastructure_cause)}).Increment();
}

void RolloutMetrics::rollout_threw() { failures_.at({"exception"}).Increment(); }

void RolloutMetrics::trajectory_made(const Trajectory& trajectory) {
  if (!trajectory.infrastructure_failure.empty()) return;
  turns_.Observe(static_cast<double>(trajectory.turns.size()));
  tokens_.Observe(static_cast<double>(trajectory.token_ids.size()));
  repetition_.Observe(redundant_share(trajectory.turns));
}

void RolloutMetrics::tool_returned(const std::string& name, const ToolOutcome& outcome) {
  const auto tool = known_tool(name);
  const auto* result = !outcome.schema_valid ? "malformed" : outcome.ok ? "ok" : "failed";
  tool_calls_.at({tool, result}).Increment();
  tool_seconds_.at({tool}).Observe(outcome.wall_ms / 1e3);
  if (outcome.compile_count == 0) return;
  const auto* cache = outcome.compile_cache_hits == outcome.compile_units ? "hit"
                      : outcome.compile_cache_hits > 0                    ? "partial"
                                                                          : "miss";
  compile_seconds_.at({outcome.ok ? "ok" : "failed", cache}).Observe(outcome.compile_ms / 1e3);
}

void RolloutMetrics::lease_waited(EvaluationMode mode, double seconds) {
  const std::string name(name_of(mode));
  lease_wait_.at({name}).Observe(seconds);
  evaluation_seconds_.at({name, "queue"}).Observe(seconds);
}

void RolloutMetrics::lease_held(double seconds) { lease_hold_.Observe(seconds); }

void RolloutMetrics::judged(const Judgement& judgement, double seconds) {
  const std::string mode(name_of(judgement.mode));
  verdicts_.at({mode, judgement.code}).Increment();
  evaluation_seconds_.at({mode, "judge"}).Observe(seconds);
  const auto speedup = [&](const char* baseline, const std::optional<MeasuredRatio>& ratio) {
    if (ratio && ratio->median > 0) speedup_.at({baseline}).Observe(1 / ratio->median);
  };
  speedup("eager", judgement.to_eager);
  speedup("compile", judgement.to_compile);
  if (const auto& eager = judgement.to_eager; eager && eager->median > 0)
    ab_noise_.Observe((eager->hi - eager->lo) / (2 * eager->median));
  for (const auto& rule : judgement.policy_rules) violations_.at({rule}).Increment();
}

void RolloutMetrics::evaluation_failed(EvaluationMode mode) {
  verdicts_.at({std::string(name_of(mode)), "none"}).Increment();
}

}  // namespace swage::rollout_worker
