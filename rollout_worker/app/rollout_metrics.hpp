#pragma once

#include <map>
#include <string>

#include "common/metrics/metrics.hpp"
#include "rollout_worker/api/evaluation.hpp"
#include "rollout_worker/api/rollout.hpp"
#include "rollout_worker/api/sandbox.hpp"
#include "rollout_worker/api/trajectory.hpp"

namespace swage::rollout_worker {

/// The groups `trajectories` and `kernels` of docs/METRICS.md, and a holder's view of the leases.
/// Labels that come from a policy or a kernel are mapped to known ones first. Thread: the worker's
/// strand; the registry is thread-safe.
class RolloutMetrics {
 public:
  explicit RolloutMetrics(Metrics& metrics);

  void rollout_began();
  void rollout_ended(const RolloutDone& done);
  void rollout_threw();
  void trajectory_made(const Trajectory& trajectory);
  void tool_returned(const std::string& tool, const ToolOutcome& outcome);
  void lease_waited(EvaluationMode mode, double seconds);
  /// A lease was held and is given back: a verdict, a refusal, a loss or a cancellation later.
  void lease_held(double seconds);
  void judged(const Judgement& judgement, double seconds);
  void evaluation_failed(EvaluationMode mode);

 private:
  prometheus::Histogram& lease_wait(EvaluationMode mode);
  prometheus::Counter& ended(const std::string& reason);

  Metrics& metrics_;
  prometheus::Gauge& active_;
  prometheus::Counter& clipped_;
  prometheus::Histogram& turns_;
  prometheus::Histogram& tokens_;
  prometheus::Histogram& reward_;
  prometheus::Histogram& repetition_;
  prometheus::Histogram& lease_hold_;
  prometheus::Histogram& ab_noise_;
};

}  // namespace swage::rollout_worker
