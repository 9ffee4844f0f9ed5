#pragma once

#include "common/asio/clock.hpp"
#include "common/asio/gate.hpp"
#include "gpu_pool/lease/api/leader_queue.hpp"

namespace swage::lease {

/// Leads one pool over any LeaderQueue:
/// 1. without an epoch: look at the server, raise the epoch above all that were seen, install it;
/// 2. with one: sweep every second;
/// 3. a changed server, or a worker that has seen a higher epoch: back to 1;
/// 4. a higher epoch of another leader: end.
/// Thread: the strand it was made for. Life: await shut_down() before it goes.
class LeaderLoop {
 public:
  /// `queue` and `clock` outlive it.
  LeaderLoop(const asio::any_io_executor& strand, LeaderQueue& queue, Clock& clock,
             PoolSettings settings, RaiseEpoch raise);
  std::uint64_t epoch() const { return epoch_; }
  bool deposed() const { return deposed_; }
  Task<> shut_down();

 private:
  Task<> run();
  Task<bool> install();
  Task<bool> sweep();

  LeaderQueue& queue_;
  Clock& clock_;
  PoolSettings settings_;
  RaiseEpoch raise_;
  std::uint64_t epoch_ = 0;
  bool deposed_ = false;
  StopSource stop_;
  Gate gate_;
};

}  // namespace swage::lease
