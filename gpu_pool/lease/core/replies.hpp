#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "gpu_pool/lease/api/leader_queue.hpp"
#include "gpu_pool/lease/api/lease_queue.hpp"
#include "gpu_pool/lease/api/worker_queue.hpp"

/// Answers as the server gives them: with durations, where the interfaces have time points.
namespace swage::lease {

struct GrantReply {
  std::string request, gpu, address;
  Token token;
  bool repeat = false;
  std::int64_t usable_ms = 0;  ///< from the sending of the call; 0 for a repeat
  bool operator==(const GrantReply&) const = default;
};
struct FullReply {
  std::int64_t retry_ms = 0;
  bool operator==(const FullReply&) const = default;
};
using AcquireReply = std::variant<Waiting, GrantReply, Ended, FullReply, Closed>;
using PollReply = std::variant<Waiting, GrantReply, Ended, Unknown>;

struct RenewReply {
  std::int64_t usable_ms = 0;  ///< from the sending of the call
  std::int64_t interval_ms = 0;
  bool operator==(const RenewReply&) const = default;
};

/// A grant pushed to a client's mailbox.
struct MailedGrant {
  std::string client;
  GrantReply grant;
  bool operator==(const MailedGrant&) const = default;
};

template <class T>
using Reply = Result<T, LeaseErrc>;

}  // namespace swage::lease
