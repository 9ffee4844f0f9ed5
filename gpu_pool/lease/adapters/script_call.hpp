#pragma once

#include <string>

#include "common/redis/client.hpp"
#include "gpu_pool/lease/adapters/redis_messages.hpp"

namespace swage::lease {

/// Calls the scripts of one pool. Thread and life: as `redis`.
class ScriptCaller {
 public:
  ScriptCaller(RedisClient& redis, const std::string& pool)
      : redis_(redis), keys_(queue_keys(pool)) {}

  /// The script's answer; unreachable, unanswered or bad_reply when there is none.
  Task<Reply<RedisValue>> call(const RedisScript& script, Words words, TimePoint deadline);

 private:
  RedisClient& redis_;
  Words keys_;
};

/// All scripts, by name; made once per process.
struct LeaseScripts {
  LeaseScripts();
  RedisScript acquire, cancel, cleared, forget, heartbeat, inspect, install, poll, register_gpu,
      release, renew, requalify, snapshot, sweep;
};
const LeaseScripts& lease_scripts();

}  // namespace swage::lease
