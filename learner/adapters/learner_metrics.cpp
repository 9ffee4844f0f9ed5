#include "learner/adapters/learner_metrics.hpp"

namespace swage::learner {
namespace {

constexpr std::array<Stage, 7> kStages{Stage::single_turn, Stage::collect, Stage::rft,
                                       Stage::critic,      Stage::agentic, Stage::evaluation,
                                       Stage::done};

void set(prometheus::Gauge& gauge, const std::optional<double>& value) {
  if (value) gauge.Set(*value);
}

}  // namespace

LearnerMetrics::LearnerMetrics(Metrics& m)
    : step_(m.gauge("swage_learner_step", "Optimiser steps done in the current stage")),
      reward_mean_(m.gauge("swage_learner_reward_mean", "Mean reward of the last batch")),
      reward_ema_(m.gauge("swage_learner_reward_ema",
                          "Exponential moving average of the batches' mean reward")),
      entropy_(m.gauge("swage_learner_entropy", "Mean entropy of the policy, nats a token")),
      kl_(m.gauge("swage_learner_kl_behaviour",
                  "Mean k3 between trainer and engine at the start of the step, nats a token")),
      explained_variance_(m.gauge("swage_learner_explained_variance",
                                  "Share of the returns' variance that the critic explains")),
      value_loss_(m.gauge("swage_learner_value_loss", "Value loss of the last step")),
      policy_loss_(m.gauge("swage_learner_policy_loss", "Policy loss of the last step")),
      clip_low_(m.gauge("swage_learner_clip_fraction", "Share of policy tokens that were clipped",
                        {{"side", "low"}})),
      clip_high_(m.gauge("swage_learner_clip_fraction", "Share of policy tokens that were clipped",
                         {{"side", "high"}})),
      grad_norm_(
          m.gauge("swage_learner_grad_norm", "Norm of the policy's gradient before clipping")),
      ess_(m.gauge("swage_learner_effective_sample_size",
                   "Effective sample size of the importance ratios, as a share of the tokens")),
      tokens_(m.counter("swage_learner_tokens_total", "Policy tokens trained on")),
      tokens_per_second_(m.gauge("swage_learner_tokens_per_second",
                                 "Policy tokens a second of the last optimiser step")),
      weight_version_(m.gauge("swage_learner_weight_version", "Newest published weight version")),
      staleness_(m.histogram("swage_learner_staleness_steps",
                             "Optimiser steps between a trajectory's start and its use",
                             {0, 1, 2, 3, 4, 6, 8})) {
  for (const auto stage : kStages)
    stages_[stage] = &m.gauge("swage_learner_stage", "1 for the current stage, else 0",
                              {{"stage", std::string(to_string(stage))}});
  for (const char* phase :
       {"wait", "rescore", "critic", "actor", "imitation", "publish", "checkpoint"})
    phases_[phase] = &m.histogram("swage_learner_phase_seconds", "Time spent in a phase of a step",
                                  seconds_buckets(), {{"phase", phase}});
  for (std::size_t i = 0; i < kSignals; ++i) {
    const std::string signal(to_string(static_cast<Signal>(i)));
    guard_state_[i] = &m.gauge("swage_learner_guardrail_state", "1 while the guardrail is alerting",
                               {{"signal", signal}});
    guard_pauses_[i] = &m.counter("swage_learner_guardrail_actions_total",
                                  "What guardrails did: each action pauses the run",
                                  {{"signal", signal}, {"action", "pause"}});
  }
  for (const char* result : {"accepted", "duplicate", "rejected", "retry"})
    submitted_[result] = &m.counter("swage_learner_trajectories_total",
                                    "Trajectories handed over, by answer", {{"result", result}});
}

void LearnerMetrics::submitted(std::string_view result) {
  if (const auto at = submitted_.find(result); at != submitted_.end()) at->second->Increment();
}

void LearnerMetrics::stage(const StageSlot& slot, std::uint64_t step) {
  for (const auto& [stage, gauge] : stages_) gauge->Set(stage == slot.stage ? 1 : 0);
  step_.Set(static_cast<double>(step));
}

void LearnerMetrics::stepped(const StepRow& row) {
  set(reward_mean_, row.reward_mean);
  set(entropy_, row.entropy);
  set(kl_, row.kl_behaviour);
  set(explained_variance_, row.explained_variance);
  set(value_loss_, row.value_loss);
  set(policy_loss_, row.policy_loss);
  set(clip_low_, row.clip_low);
  set(clip_high_, row.clip_high);
  set(grad_norm_, row.grad_norm_actor);
  set(ess_, row.effective_sample_size);
  tokens_.Increment(static_cast<double>(row.tokens));
  if (row.wall_seconds > 0)
    tokens_per_second_.Set(static_cast<double>(row.tokens) / row.wall_seconds);
}

void LearnerMetrics::batch_staleness(std::uint64_t steps) {
  staleness_.Observe(static_cast<double>(steps));
}

void LearnerMetrics::reward_average(double value) { reward_ema_.Set(value); }

void LearnerMetrics::weight_version(std::uint64_t version) {
  weight_version_.Set(static_cast<double>(version));
}

void LearnerMetrics::phase(std::string_view phase, double seconds) {
  if (const auto at = phases_.find(phase); at != phases_.end()) at->second->Observe(seconds);
}

void LearnerMetrics::guardrails(const Guardrails& guardrails) {
  for (std::size_t i = 0; i < kSignals; ++i)
    guard_state_[i]->Set(guardrails.alerting(static_cast<Signal>(i)) ? 1 : 0);
}

void LearnerMetrics::guardrail_paused(Signal signal) {
  guard_pauses_[static_cast<std::size_t>(signal)]->Increment();
}

}  // namespace swage::learner
