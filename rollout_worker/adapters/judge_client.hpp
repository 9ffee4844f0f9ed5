#pragma once

#include <memory>
#include <string>

#include "common/asio/asio.hpp"
#include "common/asio/clock.hpp"
#include "gpu_pool/lease/api/lease_holder.hpp"
#include "rollout_worker/api/evaluation.hpp"

namespace swage::rollout_worker {

enum class JudgeErrc {
  lease_over,  ///< stale, expired or lost: nothing of ours runs there; ask for another lease
  draining,    ///< the worker goes away: another lease
  refused,     ///< bundle or request malformed
  broken,      ///< no word from the GPU worker: the evaluation may still run
  cancelled,   ///< stop was asked; the worker has been told
};
constexpr FailureKind kind_of(JudgeErrc error) {
  switch (error) {
    case JudgeErrc::lease_over:
    case JudgeErrc::draining:
    case JudgeErrc::broken:
      return FailureKind::retry;  // under another lease and request
    case JudgeErrc::refused:
      return FailureKind::give_up;
    case JudgeErrc::cancelled:
      return FailureKind::cancelled;
  }
  return FailureKind::give_up;
}

/// Has a bundle judged under a lease. Thread: one strand. Life: outlives its calls.
class JudgeClient {
 public:
  virtual ~JudgeClient() = default;
  /// Sends the bundle in chunks, and the lease's renewals as they come; ends when the lease does.
  /// The caller awaits, so `lease` may be a reference.
  virtual Task<Result<Judgement, JudgeErrc>> evaluate(lease::Lease& lease, EvaluationOrder order,
                                                      StopSource& stop) = 0;
};

std::unique_ptr<JudgeClient> make_judge_client(asio::any_io_executor strand, Clock& clock,
                                               std::string token);

}  // namespace swage::rollout_worker
