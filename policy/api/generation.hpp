#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace swage::policy {

/// How to sample. Zero means off for every filter.
struct Sampling {
  float temperature = 1;  ///< tau; 0 is argmax
  std::uint32_t top_k = 0;
  float top_p = 0;  ///< (0, 1]; 0 or 1 is off
  float min_p = 0;  ///< [0, 1)
  std::uint64_t seed = 0;
};

/// Appends ids to a session and samples from there. A session is a growing list of ids whose keys
/// and values the engine keeps; `held` ids of it must be there and hash (FNV-1a) to `held_hash`.
struct GenerateRequest {
  std::string session;
  std::uint32_t held = 0;  ///< 0: the session starts afresh
  std::uint64_t held_hash = 0;
  std::vector<std::uint32_t> append_ids;
  Sampling sampling;
  std::uint32_t max_tokens = 0;         ///< >= 1
  std::vector<std::uint32_t> stop_ids;  ///< kept in the record when sampled
  std::uint64_t min_weight_version = 0;
  TimePoint deadline = TimePoint::max();  ///< then it is cancelled
};

/// Sampled ids and what log softmax(z / tau) said of each, all by one weight version.
struct SampledTokens {
  std::vector<std::uint32_t> ids;
  std::vector<float> behaviour_logprobs;
  std::uint64_t weight_version = 0;
};

enum class GenerateStop { stop_id, max_tokens, context_limit, session_miss, cancelled };

struct GenerateEnd {
  GenerateStop stop = GenerateStop::cancelled;
  std::uint32_t prefilled_tokens = 0;  ///< run through the model before or between samples
  std::uint32_t generated_tokens = 0;
};

/// Why a request was not served.
enum class GenerateErrc {
  no_weights,     ///< none are loaded yet
  old_weights,    ///< loaded ones are older than the request wants
  busy,           ///< the queue is full
  session_busy,   ///< the session has a request in hand
  bad_request,    ///< an id beyond the vocabulary, nothing to run, a sampling number out of range
  broken_model,   ///< the logits are not finite
  shutting_down,  ///< the engine is going
};

constexpr FailureKind kind_of(GenerateErrc code) {
  switch (code) {
    case GenerateErrc::no_weights:
    case GenerateErrc::old_weights:
    case GenerateErrc::busy:
    case GenerateErrc::session_busy:
    case GenerateErrc::shutting_down:
      return FailureKind::retry;
    case GenerateErrc::bad_request:
    case GenerateErrc::broken_model:
      return FailureKind::give_up;
  }
  return FailureKind::give_up;
}

struct GenerateRefusal {
  GenerateErrc code = GenerateErrc::bad_request;
  std::string detail;  ///< for people
};

/// Takes what one request yields: tokens, then exactly one of end and refused. Called on the
/// engine's thread: only pass it on.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual void tokens(SampledTokens tokens) = 0;
  virtual void end(GenerateEnd end) = 0;
  virtual void refused(GenerateRefusal refusal) = 0;
};

using RequestId = std::uint64_t;

struct EngineStatus {
  std::uint64_t weight_version = 0;  ///< 0 before the first
  std::uint32_t running = 0;         ///< requests in hand
  std::uint32_t sessions = 0;
};

/// Batched inference on one device. Thread-safe. Weights change between two steps; requests in hand
/// go on.
class InferenceEngine {
 public:
  virtual ~InferenceEngine() = default;
  virtual RequestId generate(GenerateRequest request, std::shared_ptr<TokenSink> sink) = 0;
  /// Ends it at the next token boundary with `cancelled`; unknown ids are ignored.
  virtual void cancel(RequestId id) = 0;
  /// Drops a session; a request of it is cancelled first. Unknown ones are ignored.
  virtual void close(std::string session) = 0;
  /// bytes: by the model's weight_layout(), verified. done: called on the engine's thread when the
  /// next step will use them.
  virtual void load_weights(std::uint64_t version, std::shared_ptr<const std::string> bytes,
                            std::function<void()> done) = 0;
  virtual EngineStatus status() const = 0;
  /// Refuses what comes later, cancels what runs, joins the thread. Idempotent.
  virtual void stop() = 0;
};

/// What happens to keys and values of older weights.
enum class KvPolicy {
  keep,       ///< they stay: cheap, slightly off
  recompute,  ///< live sessions are prefilled again when they next run
};

/// Sees what the engine does; called on its thread.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  virtual void step(std::size_t batch, std::size_t generated, double kv_used_ratio) = 0;
  virtual void queued(Duration wait) = 0;
  virtual void first_token(Duration wait) = 0;
  virtual void weights(std::uint64_t version) = 0;
};

}  // namespace swage::policy
