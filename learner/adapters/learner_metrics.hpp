#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/metrics/metrics.hpp"
#include "learner/adapters/steps_csv.hpp"
#include "learner/core/guardrails.hpp"
#include "learner/core/ledger.hpp"

namespace swage::learner {

/// The learner's series, all made at start. Thread-safe as prometheus-cpp's handles are.
class LearnerMetrics {
 public:
  explicit LearnerMetrics(Metrics& metrics);

  /// result: accepted, duplicate, rejected or retry.
  void submitted(std::string_view result);
  void stage(const StageSlot& slot, std::uint64_t step);
  void stepped(const StepRow& row);
  void batch_staleness(std::uint64_t steps);
  void reward_average(double value);
  void weight_version(std::uint64_t version);
  /// phase: rescore, critic, actor, imitation, publish, checkpoint or wait.
  void phase(std::string_view phase, double seconds);
  void guardrails(const Guardrails& guardrails);
  /// A guardrail acted, and the run pauses for it, whether it asked for a pause or for a rollback.
  void guardrail_paused(Signal signal);

 private:
  prometheus::Gauge& step_;
  std::map<Stage, prometheus::Gauge*> stages_;
  prometheus::Gauge &reward_mean_, &reward_ema_, &entropy_, &kl_, &explained_variance_;
  prometheus::Gauge &value_loss_, &policy_loss_, &clip_low_, &clip_high_, &grad_norm_, &ess_;
  prometheus::Counter& tokens_;
  prometheus::Gauge& tokens_per_second_;
  prometheus::Gauge& weight_version_;
  prometheus::Histogram& staleness_;
  std::map<std::string, prometheus::Histogram*, std::less<>> phases_;
  std::array<prometheus::Gauge*, kSignals> guard_state_{};
  std::array<prometheus::Counter*, kSignals> guard_pauses_{};
  std::map<std::string, prometheus::Counter*, std::less<>> submitted_;
};

}  // namespace swage::learner
