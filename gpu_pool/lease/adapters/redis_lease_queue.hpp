#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/asio/clock.hpp"
#include "common/redis/client.hpp"
#include "gpu_pool/lease/api/leader_queue.hpp"
#include "gpu_pool/lease/api/lease_queue.hpp"
#include "gpu_pool/lease/api/worker_queue.hpp"

namespace swage::lease {

/// The queue as a holder sees it. The mailbox is the caller's subscription to mailbox_channel():
/// give each message to heard(). Thread and life: as `redis`.
class RedisLeaseQueue : public LeaseQueue {
 public:
  virtual void heard(std::string message) = 0;
};

/// Factories; `redis` and `clock` outlive what is made.
std::unique_ptr<RedisLeaseQueue> make_redis_lease_queue(RedisClient& redis, Clock& clock,
                                                        std::string pool, ClientId client);
std::unique_ptr<WorkerQueue> make_redis_worker_queue(RedisClient& redis, std::string pool);
std::unique_ptr<LeaderQueue> make_redis_leader_queue(RedisClient& redis, std::string pool);

}  // namespace swage::lease
