#pragma once

#include "common/asio/clock.hpp"
#include "gpu_pool/lease/api/lease_holder.hpp"
#include "rollout_worker/adapters/judge_client.hpp"
#include "rollout_worker/api/evaluation.hpp"
#include "rollout_worker/app/rollout_metrics.hpp"

namespace swage::rollout_worker {

/// One evaluation = one lease after another until a GPU worker gives a verdict: a lease that is
/// lost, a worker that goes away or falls silent costs a try, never a verdict. Each try has a
/// request id of its own. Thread: one strand. Life: outlives its calls; so do its parts.
class LeasedEvaluator final : public Evaluator {
 public:
  static constexpr int kTries = 5;

  LeasedEvaluator(lease::LeaseHolder& holder, JudgeClient& judge, Clock& clock,
                  RolloutMetrics& metrics)
      : holder_(holder), judge_(judge), clock_(clock), metrics_(metrics) {}
  Task<Result<Judgement, EvaluationErrc>> evaluate(EvaluationOrder order,
                                                   StopSource& stop) override;

 private:
  Task<Result<Judgement, JudgeErrc>> under_lease(std::unique_ptr<lease::Lease> lease,
                                                 EvaluationOrder order, StopSource& stop);

  lease::LeaseHolder& holder_;
  JudgeClient& judge_;
  Clock& clock_;
  RolloutMetrics& metrics_;
};

}  // namespace swage::rollout_worker
