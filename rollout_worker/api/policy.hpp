#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "rollout_worker/api/rollout.hpp"

namespace swage::rollout_worker {

enum class MessageEnd {
  stop_id,        ///< the policy ended its message; the id is the last one
  max_tokens,     ///< cut at the asked length
  context_limit,  ///< cut at the engine's context
  cancelled,      ///< cut because we asked for it
};

/// Tokens of one policy message as they were sampled.
struct PolicyMessage {
  struct Run {
    std::uint32_t tokens = 0;
    std::uint64_t weight_version = 0;
  };
  std::vector<std::uint32_t> ids;
  std::vector<float> behaviour_logprobs;  ///< one per id; empty if the actor has none (teacher)
  std::vector<Run> runs;                  ///< which weights sampled what, in order; or empty
  MessageEnd end = MessageEnd::stop_id;
};

/// Which model speaks.
struct PolicyIdentity {
  std::string config_digest;     ///< 64 hex digits; empty for the teacher
  std::string tokenizer_digest;  ///< 64 hex digits
};

enum class PolicyErrc {
  lost,          ///< no server answered until the deadline
  incompatible,  ///< the server has another tokenizer, or refuses the request for good
  cancelled,     ///< the stop was asked before a token came
};
constexpr FailureKind kind_of(PolicyErrc error) {
  switch (error) {
    case PolicyErrc::lost:
    case PolicyErrc::incompatible:
      return FailureKind::give_up;
    case PolicyErrc::cancelled:
      return FailureKind::cancelled;
  }
  return FailureKind::give_up;
}

/// One rollout's conversation with its actor. It remembers all tokens, so that a server that lost
/// them gets them again. Thread: one strand; one call at a time.
class PolicySession {
 public:
  virtual ~PolicySession() = default;
  /// Appends context and has the actor speak at most max_tokens (>= 1). Retries until `deadline`.
  /// When `stop` is asked, what has been sampled so far is returned with end = cancelled.
  virtual Task<Result<PolicyMessage, PolicyErrc>> generate(std::vector<std::uint32_t> append,
                                                           std::uint32_t max_tokens,
                                                           TimePoint deadline,
                                                           StopSource& stop) = 0;
  /// Known once generate() has returned a message.
  virtual PolicyIdentity identity() const = 0;
  /// Lets the server forget the session; best effort.
  virtual Task<> close() = 0;
};

/// Opens conversations. Thread: one strand. Life: outlives its sessions.
class PolicyDirectory {
 public:
  virtual ~PolicyDirectory() = default;
  virtual std::unique_ptr<PolicySession> open(const Assignment& assignment) = 0;
};

}  // namespace swage::rollout_worker
