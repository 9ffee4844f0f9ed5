#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "common/rpc/keepalive.hpp"

namespace swage {

/// A channel to `address` (`unix:/path` or `host:port`), 16 MiB messages. It connects when first
/// used, reconnects with back-off from 100 ms to 2 s, and shares no connection with other channels
/// (a long stream gets its own). A peer that is gone without a word is noticed (Keepalive).
/// Thread-safe; re-use it.
std::shared_ptr<grpc::Channel> make_channel(const std::string& address,
                                            const Keepalive& keepalive = {});

/// Largest message either side accepts.
inline constexpr int kMaxMessageBytes = 16 << 20;

}  // namespace swage
