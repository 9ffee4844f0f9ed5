#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "gpu_pool/lease/api/types.hpp"

namespace swage::lease {

/// What somebody wants a GPU for.
struct HoldAsk {
  RequestId request;  ///< unique for ever, e.g. `<rollout_id>.<attempt>.<number>`
  RunUid run;
  RequestClass cls = RequestClass::verify;
  double weight = 1;         ///< the run's share against other runs, > 0
  std::uint32_t cap = 0;     ///< most GPUs of the run at once; kept, not enforced yet. 0: unlimited
  std::vector<GpuId> avoid;  ///< at most 3 GPUs that failed this work; kept, not enforced yet
  std::string task;          ///< task digest, for affinity; may be empty
};

/// Why there is no lease.
enum class HoldErrc {
  cancelled,  ///< `stop` was requested; nothing is held
  waited,     ///< PoolSettings::wait passed in the queue: an infrastructure failure
  lost,       ///< the request came to an end without us (granted and lost three times, expired)
  closed,     ///< the pool takes no requests: an infrastructure failure
  broken,     ///< the queue's answers make no sense (wrong Redis, no permission)
};

constexpr FailureKind kind_of(HoldErrc code) {
  switch (code) {
    case HoldErrc::cancelled:
      return FailureKind::cancelled;
    case HoldErrc::waited:
    case HoldErrc::lost:
      return FailureKind::retry;  // with a new request id
    case HoldErrc::closed:
    case HoldErrc::broken:
      return FailureKind::give_up;
  }
  return FailureKind::give_up;
}

/// How a lease is given back.
enum class ReleaseAs {
  clear,   ///< the GPU worker said that nothing of us is left (it sent a verdict or a refusal)
  unsure,  ///< no word from the GPU worker: it must clear the GPU before anybody gets it
  /// As unsure, and the request waits again, with its rank: hold() it again. (The work is not to
  /// blame.) Given back otherwise, a request is over, and the next try needs a new request id.
  retry,
};

/// A GPU that is ours, renewed in the background. Thread: the holder's strand. Life: give it back
/// with release(); one that goes unreleased is released as `unsure` in the background. It must not
/// outlive its LeaseHolder.
class Lease {
 public:
  virtual ~Lease() = default;
  virtual const GpuId& gpu() const = 0;
  virtual const std::string& address() const = 0;  ///< gRPC target of the GPU's worker
  virtual Token token() const = 0;

  /// All work on the GPU must have ended by then. Rises with each renewal, never falls.
  virtual TimePoint usable_until() const = 0;

  /// Requested when the lease is over: the queue said so, or usable_until() has passed. Hook it to
  /// cancel the evaluation.
  virtual StopSource& lost() = 0;
  /// Why it is over; nothing while it is ours. `unanswered`: usable_until() passed without news.
  virtual std::optional<LeaseErrc> lost_because() const = 0;

  /// Called with the new usable_until() after each renewal: send it down as EvaluateExtend. One
  /// listener; an empty function removes it.
  virtual void on_renewed(std::function<void(TimePoint)> listener) = 0;

  /// Ends renewing and gives the GPU back; retries until the lease would have run out anyway. True:
  /// the queue has taken it. Also for a lease that is lost. Await it at most once.
  virtual Task<bool> release(ReleaseAs how) = 0;
};

/// Takes leases for one process: waits in the queue with back-pressure, hears of grants by its
/// mailbox and by polling, claims, renews every third of the usable time, and says when a lease is
/// lost. Any number of hold() at once. Thread: the strand that made it. Life: await shut_down()
/// before it goes.
class LeaseHolder {
 public:
  virtual ~LeaseHolder() = default;

  /// Returns when a GPU is ours, or never will be. Waits through outages of Redis. Requesting
  /// `stop` (of the caller's, on the same strand) takes the request out of the queue.
  virtual Task<Result<std::unique_ptr<Lease>, HoldErrc>> hold(HoldAsk ask, StopSource& stop) = 0;

  /// Lets nobody in any more, cancels what waits, waits for releases under way (at most 2 s).
  virtual Task<> shut_down() = 0;
};

/// Opens the queue for a process that takes leases, on the strand it is awaited on. It connects in
/// the background and reconnects for ever. `client` is unique among the pool's clients and stays
/// the same for the life of the process.
Task<std::unique_ptr<LeaseHolder>> open_lease_holder(QueueConfig config, ClientId client);

}  // namespace swage::lease
