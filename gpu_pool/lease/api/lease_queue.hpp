#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/asio/task.hpp"
#include "gpu_pool/lease/api/lease_holder.hpp"
#include "gpu_pool/lease/api/types.hpp"

namespace swage::lease {

/// A GPU is ours. `repeat`: this was not the first answer, and renew() must claim it before use.
struct Grant {
  RequestId request;
  GpuId gpu;
  std::string address;  ///< gRPC target of its worker
  Token token;
  bool repeat = false;
  TimePoint usable_until{};  ///< of a grant that is not a repeat
};

/// The request stands in the queue.
struct Waiting {
  std::uint32_t ahead = 0;  ///< requests of the same run before it
  std::uint32_t gpus = 0;   ///< GPUs known to the pool
  bool operator==(const Waiting&) const = default;
};

/// How a request ended.
enum class EndState { released, expired, cancelled, timeout, dead };
struct Ended {
  EndState state = EndState::released;
  bool operator==(const Ended&) const = default;
};

/// The queue is full. Hold the work back and ask again, with jitter.
struct QueueFull {
  Duration retry{};
};
/// The pool takes no new requests.
struct Closed {
  bool operator==(const Closed&) const = default;
};
/// poll() only: acquire again, with age.
struct Unknown {
  bool operator==(const Unknown&) const = default;
};

using AcquireAnswer = std::variant<Waiting, Grant, Ended, QueueFull, Closed>;
using PollAnswer = std::variant<Waiting, Grant, Ended, Unknown>;

/// What a renewal brought.
struct Renewal {
  TimePoint usable_until{};  ///< GPU work must have ended by then
  Duration interval{};       ///< renew again after this much
};

enum class CancelAnswer { ok, held };

/// The lease queue as a holder sees it. Every call is idempotent. Errors common to all:
/// unreachable, unanswered, no_epoch, bad_reply. Thread: one strand. Life: outlives its calls.
class LeaseQueue {
 public:
  virtual ~LeaseQueue() = default;

  /// Stands in the queue. age: how long this request has waited before the queue forgot it.
  /// first: false when this request was sent before; a grant is then marked `repeat`.
  virtual Task<Result<AcquireAnswer, LeaseErrc>> acquire(HoldAsk ask, Duration age, bool first,
                                                         TimePoint deadline) = 0;

  /// Extends a lease; the first call claims it. Errors besides: requeued, expired, hold_limit,
  /// not_holder, unknown.
  virtual Task<Result<Renewal, LeaseErrc>> renew(RequestId request, Token token,
                                                 TimePoint deadline) = 0;

  /// Gives the GPU back. A repeat is OK too. Errors besides: not_holder, unknown.
  virtual Task<Result<void, LeaseErrc>> release(RequestId request, Token token, ReleaseAs how,
                                                TimePoint deadline) = 0;

  /// What became of these (at most 256), in order; also says that this client lives.
  virtual Task<Result<std::vector<PollAnswer>, LeaseErrc>> poll(std::vector<RequestId> requests,
                                                                TimePoint deadline) = 0;

  /// Takes a request out. `held`: it is claimed, and must be released instead.
  virtual Task<Result<CancelAnswer, LeaseErrc>> cancel(RequestId request, TimePoint deadline) = 0;

  /// Grants that were pushed to this client's mailbox: hints, any may be missed. One listener.
  virtual void on_grant(std::function<void(Grant)> listener) = 0;
};

}  // namespace swage::lease
