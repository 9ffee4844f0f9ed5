#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/redis/value.hpp"
#include "gpu_pool/lease/core/records.hpp"
#include "gpu_pool/lease/core/replies.hpp"

/// What goes into the scripts and comes out of them. Pure.
namespace swage::lease {

using Words = std::vector<std::string>;

/// The thirteen keys of a pool, in the scripts' order. pool: `<namespace>.<name>`.
Words queue_keys(const std::string& pool);
/// The channel on which a client hears of its grants.
std::string mailbox_channel(const std::string& pool, const std::string& client);

Words install_words(std::uint64_t epoch, const std::string& server, const Settings& settings);
Words register_words(const Registration& registration);
Words acquire_words(const HoldAsk& ask, const std::string& client, Micros age, bool first);
Words token_words(const std::string& request, Token token);
Words release_words(const std::string& request, Token token, ReleaseAs how);

/// The server's raw clock, which stands first in every answer. Nothing: not an answer of ours.
std::optional<Micros> raw_time_from(const RedisValue& value);

Reply<ServerState> inspect_from(const RedisValue& value);
Reply<InstallAnswer> install_from(const RedisValue& value);
Reply<SweepCounts> sweep_from(const RedisValue& value);
Reply<PoolSnapshot> snapshot_from(const RedisValue& value);
Reply<RegisterAnswer> register_from(const RedisValue& value);
Reply<HeartbeatAnswer> heartbeat_from(const RedisValue& value);
Reply<ClearedAnswer> cleared_from(const RedisValue& value);
Reply<bool> requalify_from(const RedisValue& value);
Reply<AcquireReply> acquire_from(const RedisValue& value);
Reply<RenewReply> renew_from(const RedisValue& value);
Reply<void> ok_from(const RedisValue& value);  ///< release, forget
Reply<std::vector<PollReply>> poll_from(const RedisValue& value);
Reply<CancelAnswer> cancel_from(const RedisValue& value);

/// A message of the mailbox. Nothing: not one of ours.
std::optional<GrantReply> mailed_from(std::string_view message);

}  // namespace swage::lease
