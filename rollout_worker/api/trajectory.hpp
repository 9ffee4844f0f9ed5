#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"
#include "rollout_worker/api/evaluation.hpp"
#include "rollout_worker/api/policy.hpp"
#include "rollout_worker/api/rollout.hpp"

namespace swage::rollout_worker {

struct CallRecord {
  std::string name;
  std::string arguments_digest;  ///< SHA-256 of the canonical arguments
  bool schema_valid = false;
};

/// Token indices [policy_begin, policy_end) are the policy's message, [policy_end,
/// observation_end) what it was shown afterwards.
struct TurnRecord {
  std::uint32_t policy_begin = 0;
  std::uint32_t policy_end = 0;
  std::uint32_t observation_end = 0;
  std::vector<CallRecord> calls;
  std::string observation_digest;  ///< numbers replaced by `#`
  std::string work_digest;
  std::uint32_t wall_ms = 0;
};

struct VersionSpan {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint64_t weight_version = 0;
};

/// The record of one rollout: what the learner logs.
struct Trajectory {
  RolloutKey key;
  Provenance provenance;
  TaskRecord task;
  std::int64_t started_unix_ms = 0;
  std::int64_t ended_unix_ms = 0;
  PolicyIdentity identity;
  std::string renderer;
  Sampling sampling;
  Use use = Use::ppo;
  Actor actor = Actor::policy;
  std::vector<VersionSpan> version_spans;
  std::vector<std::uint32_t> token_ids;   ///< [T]
  std::vector<std::uint8_t> loss_mask;    ///< [T], 1 = produced by the actor
  std::vector<float> behaviour_logprobs;  ///< [T], NaN where not sampled by the policy
  std::vector<TurnRecord> turns;
  std::optional<double> reward;       ///< terminal, at reward_position
  std::uint32_t reward_position = 0;  ///< the last token of the actor
  std::vector<Judgement> verdicts;    ///< in the order they were given
  std::optional<std::uint32_t> final_verdict;
  EndReason reason = EndReason::no_tool_call;
  std::string infrastructure_failure;
};

enum class SubmitAnswer {
  accepted,   ///< logged and synced now
  duplicate,  ///< the log has this rollout already
  rejected,   ///< for good
};

struct Delivery {
  SubmitAnswer answer = SubmitAnswer::accepted;
  std::string reason;  ///< why rejected: malformed, bad_version, …
};

enum class DeliveryErrc {
  unanswered,  ///< stop was asked first; the learner may have it all the same
};
constexpr FailureKind kind_of(DeliveryErrc) { return FailureKind::cancelled; }

/// Hands trajectories to the learner until it answers, over restarts of the learner. Idempotent:
/// the learner keeps one trajectory per rollout id. Thread: the caller's strand.
class TrajectorySink {
 public:
  virtual ~TrajectorySink() = default;
  virtual Task<Result<Delivery, DeliveryErrc>> deliver(std::shared_ptr<const Trajectory> trajectory,
                                                       StopSource& stop) = 0;
};

}  // namespace swage::rollout_worker
