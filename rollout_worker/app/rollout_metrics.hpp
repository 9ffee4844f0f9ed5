#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/metrics/metrics.hpp"
#include "rollout_worker/api/evaluation.hpp"
#include "rollout_worker/api/rollout.hpp"
#include "rollout_worker/api/sandbox.hpp"
#include "rollout_worker/api/trajectory.hpp"

namespace swage::rollout_worker {

/// One family's series by the values of its labels, in the order in which `make` takes them. Those
/// of `known` are there from the start, at zero; one of other values (a verdict or a rule of a
/// newer judge) is made once, when it is first seen.
template <class Metric>
class SeriesOf {
 public:
  using Values = std::vector<std::string>;
  using Make = std::function<Metric&(const Values&)>;
  SeriesOf(Make make, const std::vector<Values>& known) : make_(std::move(make)) {
    for (const auto& values : known) at(values);
  }
  Metric& at(const Values& values) {
    const auto found = made_.find(values);
    if (found != made_.end()) return *found->second;
    return *made_.emplace(values, &make_(values)).first->second;
  }

 private:
  Make make_;
  std::map<Values, Metric*> made_;
};

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
  prometheus::Gauge& active_;
  prometheus::Counter& clipped_;
  prometheus::Histogram& turns_;
  prometheus::Histogram& tokens_;
  prometheus::Histogram& reward_;
  prometheus::Histogram& repetition_;
  prometheus::Histogram& lease_hold_;
  prometheus::Histogram& ab_noise_;
  SeriesOf<prometheus::Counter> ended_, failures_, tool_calls_, verdicts_, violations_;
  SeriesOf<prometheus::Histogram> tool_seconds_, compile_seconds_, lease_wait_, evaluation_seconds_,
      speedup_;
};

}  // namespace swage::rollout_worker
