#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"
#include "rollout_worker/api/rollout.hpp"

namespace swage::rollout_worker {

enum class EvaluationMode { verify, profile, score };
std::string_view name_of(EvaluationMode mode);

/// A bundle on its way from a sandbox to a judge; its content is not looked at here.
struct PackedWork {
  std::string bundle_id;                       ///< 64 hex digits
  std::shared_ptr<const std::string> encoded;  ///< a serialised swage.v1.Bundle
  std::string work_digest;                     ///< of the agent's files when it was packed
  bool compiled = false;
};

/// How a measured ratio candidate / baseline turned out; < 1 is faster.
struct MeasuredRatio {
  double median = 0;
  double lo = 0;
  double hi = 0;
};

/// A judge's verdict: the signed bytes as they came, and what the rollout needs to know of them.
struct Judgement {
  std::string verdict;  ///< a serialised swage.v1.Verdict, never re-encoded
  std::string hmac;
  EvaluationMode mode = EvaluationMode::verify;
  std::string code;  ///< lower case: ok, mismatch, …
  std::optional<double> reward;
  std::optional<MeasuredRatio> to_eager;
  std::optional<MeasuredRatio> to_compile;
  std::string trust;  ///< full or reduced
  std::string gpu;    ///< where it ran
  std::uint32_t lease_ms = 0;
  std::vector<std::string> policy_rules;  ///< findings, by rule
};

enum class EvaluationErrc {
  pool_lost,  ///< no verdict could be had: the pool, its queue or its workers failed too often
  refused,    ///< the GPU worker says that the bundle or the request is malformed
  cancelled,  ///< the caller's stop was asked
};
constexpr FailureKind kind_of(EvaluationErrc error) {
  switch (error) {
    case EvaluationErrc::pool_lost:
    case EvaluationErrc::refused:
      return FailureKind::give_up;
    case EvaluationErrc::cancelled:
      return FailureKind::cancelled;
  }
  return FailureKind::give_up;
}

/// One evaluation to be had.
struct EvaluationOrder {
  RolloutKey rollout;
  std::string request;  ///< unique: [A-Za-z0-9._-]{1,96}
  std::string run_uid;
  EvaluationMode mode = EvaluationMode::verify;
  TaskRecord task;
  PackedWork work;
  std::string precision;
  bool one_machine = false;
  std::uint32_t lease_weight = 1;
  std::uint32_t max_leases = 0;
  std::vector<std::string> avoid;  ///< GPUs that should not get it, at most 3
};

/// Queues for a GPU lease and has a bundle judged under it. Idempotent per request id.
/// Thread: the caller's strand. Life: outlives its calls.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual Task<Result<Judgement, EvaluationErrc>> evaluate(EvaluationOrder order,
                                                           StopSource& stop) = 0;
};

}  // namespace swage::rollout_worker
