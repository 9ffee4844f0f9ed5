#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/asio/clock.hpp"
#include "controller/api/resources.hpp"
#include "gpu_pool/lease/api/leader_queue.hpp"

namespace swage::controller {

/// Leads the profiling pool in Redis and keeps its newest snapshot.
/// Thread: the strand it is awaited on. Life: run() must have returned before it goes.
class PoolLead {
 public:
  PoolLead(lease::QueueConfig queue, const ProfilingPool& pool, lease::RaiseEpoch raise,
           Clock& clock);

  /// Leads until `stop`; changed is called after each new snapshot.
  Task<> run(std::function<void()> changed, StopSource& stop);

  const std::optional<lease::PoolSnapshot>& snapshot() const { return snapshot_; }
  bool reachable() const { return reachable_; }
  /// The GPU's pod is gone: its lease is void, its record goes. False: later.
  Task<bool> forget_gpu(std::string gpu);
  /// The run is gone: what it waits for is cancelled. False: later.
  Task<bool> forget_run(std::string run_uid);
  std::uint64_t epoch() const { return leader_ ? leader_->epoch() : 0; }

 private:
  lease::QueueConfig queue_;
  lease::PoolSettings settings_;
  lease::RaiseEpoch raise_;
  Clock& clock_;
  std::unique_ptr<lease::PoolLeader> leader_;
  std::optional<lease::PoolSnapshot> snapshot_;
  bool reachable_ = false;
};

}  // namespace swage::controller
