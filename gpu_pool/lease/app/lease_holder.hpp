#pragma once

#include <memory>
#include <random>

#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "gpu_pool/lease/api/lease_holder.hpp"
#include "gpu_pool/lease/api/lease_queue.hpp"

namespace swage::lease {

/// What a holder hears about one request while it waits.
struct Wait {
  explicit Wait(const asio::any_io_executor& strand) : changed(strand) {}
  std::optional<Grant> grant;
  bool ask_again = false;  ///< the queue forgot the request, or it ended: acquire() tells
  TimePoint heard;         ///< when the queue last said that it waits
  Event changed;
};

/// One lease in hand, shared by its owner and the task that renews it.
struct HeldLease {
  explicit HeldLease(Grant g) : grant(std::move(g)) {}
  Grant grant;
  TimePoint usable_until, renew_at;
  StopSource lost;
  std::optional<LeaseErrc> lost_because;
  StopSource done;               ///< ends renewing: released, or shutting down
  std::optional<Grant> regrant;  ///< the request waited again, and has a newer lease already
  std::function<void(TimePoint)> renewed;
};

/// The loops of a LeaseHolder over any LeaseQueue: hold() per request, one that polls, one that
/// renews per lease. Thread: the strand it was made for. Life: as LeaseHolder.
class HolderLoops final : public LeaseHolder {
 public:
  /// `queue` and `clock` outlive it.
  HolderLoops(const asio::any_io_executor& strand, LeaseQueue& queue, Clock& clock);

  Task<Result<std::unique_ptr<Lease>, HoldErrc>> hold(HoldAsk ask, StopSource& stop) override;
  Task<> shut_down() override;

  /// Polls at once; call it when the connection or the mailbox is there (again).
  void poll_now();

  Task<bool> release(std::shared_ptr<HeldLease> held, ReleaseAs how);
  /// Releases in the background what its owner dropped.
  void drop(std::shared_ptr<HeldLease> held);

 private:
  using Held = Result<std::unique_ptr<Lease>, HoldErrc>;

  Task<Held> wait_for(HoldAsk ask, StopSource& stop);
  Task<std::optional<Held>> claim(Grant grant, StopSource& stop);
  Held taken(Grant grant, TimePoint usable_until, Duration interval);
  void forget(const HeldLease& held);
  Task<> keep(std::shared_ptr<HeldLease> held);
  Task<> renew(std::shared_ptr<HeldLease> held);
  Task<> poll_loop();
  Task<> poll_once();
  Task<> let_go(Grant grant);
  Task<> withdraw(RequestId request);
  Task<bool> release_requeued(std::shared_ptr<HeldLease> held, ReleaseAs how);
  Task<> release_dropped(std::shared_ptr<HeldLease> held);
  void heard(Grant grant);
  Duration jittered(Duration whole);
  TimePoint call_deadline(std::optional<TimePoint> cut = {}) const;
  Task<> nap(Duration whole, StopSource& stop);

  asio::any_io_executor strand_;
  LeaseQueue& queue_;
  Clock& clock_;
  std::minstd_rand random_{std::random_device{}()};
  std::map<RequestId, std::shared_ptr<Wait>> waiting_;
  std::map<RequestId, std::shared_ptr<HeldLease>> held_;
  std::map<RequestId, Grant> early_;  // regrants that the next hold() of the request takes
  std::size_t holds_ = 0;             // hold() under way
  Event holds_changed_;
  bool poll_asked_ = false;
  std::shared_ptr<StopSource> poll_wake_;   // requested to poll before the time
  std::optional<TimePoint> closing_until_;  // after shut_down(): no background call beyond
  StopSource stop_, background_;
  Gate loops_, tidy_;
};

}  // namespace swage::lease
