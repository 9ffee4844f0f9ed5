#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "common/asio/task.hpp"
#include "gpu_pool/lease/api/types.hpp"

namespace swage::lease {

/// The evaluation that a registering worker still runs.
struct RunningLease {
  RequestId request;
  Token token;
  RunUid run;
  RequestClass cls = RequestClass::verify;
  ClientId client;
};

struct Registration {
  GpuId gpu;
  BootId boot;
  std::string address;  ///< gRPC target that holders dial
  Token floor;          ///< highest token ever accepted here
  std::optional<RunningLease> running;
};

/// Registered: grants up to `newest` are not ours, unless `restored`.
struct Registered {
  Token newest;
  bool restored = false;  ///< `running` is held again
  PoolSettings settings;
  bool operator==(const Registered&) const = default;
};
struct EpochBehind {
  bool operator==(const EpochBehind&) const = default;
};  ///< the queue's epoch is below our floor: ask again after the leader acted
struct Quarantined {
  bool operator==(const Quarantined&) const = default;
};
using RegisterAnswer = std::variant<EpochBehind, Registered, Quarantined>;

struct NothingToDo {
  bool operator==(const NothingToDo&) const = default;
};
struct Clear {  ///< kill, check, then cleared(token)
  Token token;
  bool operator==(const Clear&) const = default;
};
struct MustRegister {
  bool operator==(const MustRegister&) const = default;
};
struct BootReplaced {
  bool operator==(const BootReplaced&) const = default;
};  ///< another process serves this GPU: exit
using HeartbeatAnswer = std::variant<NothingToDo, Clear, MustRegister, BootReplaced, Quarantined>;

enum class ClearedAnswer { ok, not_suspect };

/// The lease queue as a GPU's worker sees it. Calls are idempotent on (gpu, boot). Errors common to
/// all: unreachable, unanswered, no_epoch, bad_reply. Thread: one strand. Life: outlives its calls.
class WorkerQueue {
 public:
  virtual ~WorkerQueue() = default;

  /// Says that this GPU is served by this boot. A lease of the GPU that is not running is taken
  /// back and its request waits again.
  virtual Task<Result<RegisterAnswer, LeaseErrc>> register_gpu(Registration registration,
                                                               TimePoint deadline) = 0;
  /// Says that the worker lives (every second); also helps sweeping.
  virtual Task<Result<HeartbeatAnswer, LeaseErrc>> heartbeat(GpuId gpu, BootId boot,
                                                             TimePoint deadline) = 0;
  /// After Clear: the GPU is clear (ok), or could not be cleared.
  virtual Task<Result<ClearedAnswer, LeaseErrc>> cleared(GpuId gpu, BootId boot, Token token,
                                                         bool ok, TimePoint deadline) = 0;
  /// After Quarantined: the self-test passed, and the worker wants to register again. False: no;
  /// after three failures only forgetting the GPU helps.
  virtual Task<Result<bool, LeaseErrc>> requalify(GpuId gpu, BootId boot, TimePoint deadline) = 0;
};

/// A WorkerQueue with its connection, which is kept up in the background. Thread: the strand that
/// opened it. Life: await shut_down() before it goes.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  virtual WorkerQueue& queue() = 0;
  /// Why there is no connection; empty while there is one.
  virtual std::string trouble() const = 0;
  virtual Task<> shut_down() = 0;
};
Task<std::unique_ptr<WorkerLink>> open_worker_link(QueueConfig config);

}  // namespace swage::lease
