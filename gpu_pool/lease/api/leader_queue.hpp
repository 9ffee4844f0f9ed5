#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "gpu_pool/lease/api/types.hpp"

namespace swage::lease {

/// Who the Redis server is, and what it has been told.
struct ServerState {
  std::string server;             ///< identity now
  std::string installed_server;   ///< identity of the last install; empty: none
  std::uint64_t epoch = 0;        ///< installed, 0 if none
  std::uint64_t floor_epoch = 0;  ///< highest epoch that a registering worker has shown
  bool operator==(const ServerState&) const = default;
};

enum class InstallAnswer {
  ok,
  stale_epoch,   ///< a higher one stands
  wrong_server,  ///< the identity changed meanwhile: take a new value
};

/// What one sweep did.
struct SweepCounts {
  std::uint32_t suspect = 0;      ///< leases taken back
  std::uint32_t unclaimed = 0;    ///< grants nobody claimed
  std::uint32_t absent = 0;       ///< silent workers
  std::uint32_t silent = 0;       ///< requests cancelled because their client is silent
  std::uint32_t timed_out = 0;    ///< requests that waited too long
  std::uint32_t quarantined = 0;  ///< GPUs not cleared in time
  std::uint64_t floor_epoch =
      0;  ///< as ServerState's: not below the epoch means a higher is needed
  bool operator==(const SweepCounts&) const = default;
};

/// One GPU in a snapshot.
struct GpuState {
  GpuId gpu;
  std::string state;  ///< unconfirmed, idle, leased, suspect, quarantined or absent
  std::string address;
  RequestId request;  ///< that holds it, empty if none
  bool operator==(const GpuState&) const = default;
};

/// A pool at one moment.
struct PoolSnapshot {
  std::uint64_t epoch = 0;
  std::uint64_t counter = 0;                      ///< grants so far
  std::uint32_t waiting = 0;                      ///< requests
  std::uint32_t leased = 0;                       ///< requests granted or held
  std::chrono::milliseconds oldest_wait{0};       ///< 0 if none waits
  std::vector<GpuState> gpus;                     ///< by id
  std::map<std::string, std::uint64_t> counters;  ///< granted, released, expired, …
  bool operator==(const PoolSnapshot&) const = default;
};

/// The lease queue as the pool's leader sees it. Errors common to all: unreachable, unanswered,
/// no_epoch, stale_epoch, bad_reply. Thread: one strand. Life: outlives its calls.
class LeaderQueue {
 public:
  virtual ~LeaderQueue() = default;
  virtual Task<Result<ServerState, LeaseErrc>> inspect(TimePoint deadline) = 0;
  /// Allows grants on `server` under `epoch`. After a changed identity every GPU is unconfirmed
  /// until its worker registers again.
  virtual Task<Result<InstallAnswer, LeaseErrc>> install(std::uint64_t epoch, std::string server,
                                                         PoolSettings settings,
                                                         TimePoint deadline) = 0;
  /// Every second: takes back what is overdue, at most `limit` of each kind.
  virtual Task<Result<SweepCounts, LeaseErrc>> sweep(std::uint64_t epoch, std::uint32_t limit,
                                                     TimePoint deadline) = 0;
  /// The GPU's pod is gone: its lease is voided (the request waits again) and its record removed.
  virtual Task<Result<void, LeaseErrc>> forget_gpu(std::uint64_t epoch, GpuId gpu,
                                                   TimePoint deadline) = 0;
  /// The run is gone: its waiting requests are cancelled.
  virtual Task<Result<void, LeaseErrc>> forget_run(std::uint64_t epoch, RunUid run,
                                                   TimePoint deadline) = 0;
  virtual Task<Result<PoolSnapshot, LeaseErrc>> snapshot(TimePoint deadline) = 0;
};

/// The authority over epochs: etcd, or a file on one machine. Raises the stored value to 1 + the
/// largest of itself and `at_least`, durably, and returns it. Nothing: could not; try later.
using RaiseEpoch = std::function<Task<std::optional<std::uint64_t>>(std::uint64_t at_least)>;

/// Leads a pool: takes an epoch, installs it again whenever Redis changes its identity, sweeps
/// every second. Thread: the strand that made it. Life: await shut_down() before it goes.
class PoolLeader {
 public:
  virtual ~PoolLeader() = default;
  virtual std::uint64_t epoch() const = 0;  ///< installed, 0 while there is none
  /// True once a newer leader was met: this one has stopped.
  virtual bool deposed() const = 0;
  virtual LeaderQueue& queue() = 0;
  virtual Task<> shut_down() = 0;
};

/// Opens the queue for the pool's leader and starts leading, on the strand it is awaited on.
Task<std::unique_ptr<PoolLeader>> open_pool_leader(QueueConfig config, PoolSettings settings,
                                                   RaiseEpoch raise);

}  // namespace swage::lease
