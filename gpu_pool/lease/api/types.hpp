#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "common/base/result.hpp"
#include "common/base/strong_id.hpp"
#include "common/base/time.hpp"

namespace swage::lease {

/// Ids go into Redis keys and messages: [A-Za-z0-9._-]{1,96}.
using RequestId = StrongId<struct RequestTag>;  ///< one evaluation; the caller makes it unique
using RunUid = StrongId<struct RunTag>;         ///< TrainingRun's uid
using ClientId = StrongId<struct ClientTag>;    ///< one process that takes leases
using GpuId = StrongId<struct GpuTag>;          ///< GPU's UUID
using BootId = StrongId<struct BootTag>;        ///< one start of a GPU worker

bool valid_id(const std::string& id);

/// A lease's fencing token, compared as (epoch, counter); each below 2^53.
struct Token {
  std::uint64_t epoch = 0;
  std::uint64_t counter = 0;
  auto operator<=>(const Token&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Token& token) {
  return out << token.epoch << ":" << token.counter;
}

/// What the GPU is wanted for: its rank inside a run (score first) and its expected hold.
enum class RequestClass { score, verify, profile };

/// Limits of one pool, installed in Redis by the leader (spec.lease and spec.queue of the pool).
struct PoolSettings {
  std::chrono::milliseconds ttl{15'000};            ///< a lease lives this long without renewal
  std::chrono::milliseconds claim{3'000};           ///< a grant must be claimed within
  std::chrono::milliseconds margin{3'000};          ///< the holder stops this much before ttl
  std::chrono::milliseconds clearing{30'000};       ///< a GPU that takes longer is quarantined
  std::chrono::milliseconds hold{240'000};          ///< longest hold, renewed or not
  std::chrono::milliseconds wait{1'800'000};        ///< longest wait in the queue
  std::chrono::milliseconds worker_absent{5'000};   ///< a silent GPU worker is taken for gone
  std::chrono::milliseconds client_silent{15'000};  ///< a silent client loses what waits
  std::uint32_t waiting = 4'096;                    ///< requests waiting, whole pool
  std::uint32_t waiting_client = 1'024;             ///< requests waiting, one client
  std::uint32_t attempts = 3;                       ///< grants before a request is given up
  bool closed = false;                              ///< true: no new requests
  bool operator==(const PoolSettings&) const = default;
};

/// Why a call to the queue brought no answer that its caller asked for.
enum class LeaseErrc {
  unreachable,  ///< not sent: no connection, or the deadline passed before
  unanswered,   ///< sent, and no answer in time: it may have happened. Every call may be repeated
  no_epoch,     ///< Redis changed its identity; nothing is granted until the leader has installed
  stale_epoch,  ///< a newer leader has installed a higher epoch: stop being one
  requeued,     ///< the lease is over; the request waits again
  expired,      ///< the lease is over; so is the request
  hold_limit,   ///< held longer than PoolSettings::hold: the lease is over
  not_holder,   ///< the token is not the one that holds this request
  unknown,      ///< the queue does not know this request (Redis restarted empty, or long ended)
  bad_reply,    ///< the script failed or its answer could not be read: a bug or a wrong server
};

constexpr FailureKind kind_of(LeaseErrc code) {
  switch (code) {
    case LeaseErrc::unreachable:
    case LeaseErrc::unanswered:
    case LeaseErrc::no_epoch:
    case LeaseErrc::unknown:  // a registering GPU worker may still restore it
      return FailureKind::retry;
    case LeaseErrc::stale_epoch:
    case LeaseErrc::requeued:
    case LeaseErrc::expired:
    case LeaseErrc::hold_limit:
    case LeaseErrc::not_holder:
    case LeaseErrc::bad_reply:
      return FailureKind::give_up;
  }
  return FailureKind::give_up;
}

const char* to_string(LeaseErrc code);
const char* to_string(RequestClass cls);

/// How a process reaches a pool's queue.
struct QueueConfig {
  std::string redis_address;  ///< `unix:/path` or `host:port`
  std::string password;       ///< for AUTH; empty: none
  std::string pool;           ///< `<namespace>.<name>`
};

}  // namespace swage::lease
