// The queue over Redis, wired for those who only see its interfaces.
#include <string>

#include "common/redis/client.hpp"
#include "common/redis/subscription.hpp"
#include "gpu_pool/lease/adapters/redis_lease_queue.hpp"
#include "gpu_pool/lease/adapters/redis_messages.hpp"
#include "gpu_pool/lease/api/worker_queue.hpp"
#include "gpu_pool/lease/app/lease_holder.hpp"
#include "gpu_pool/lease/app/pool_leader.hpp"

namespace swage::lease {
namespace {

using namespace std::chrono_literals;

RedisConfig redis_config(const QueueConfig& config) {
  return {config.redis_address, config.password, true};
}

class RedisHolder final : public LeaseHolder {
 public:
  RedisHolder(const asio::any_io_executor& strand, const QueueConfig& config,
              const ClientId& client)
      : clock_(make_steady_clock()),
        redis_(strand, redis_config(config)),
        queue_(make_redis_lease_queue(redis_, *clock_, config.pool, client)),
        loops_(strand, *queue_, *clock_),
        mailbox_(
            strand, redis_config(config), mailbox_channel(config.pool, client.str()),
            [this](std::string message) { queue_->heard(std::move(message)); },
            [this] { loops_.poll_now(); }) {
    redis_.on_connect([this] { loops_.poll_now(); });
  }

  Task<Result<std::unique_ptr<Lease>, HoldErrc>> hold(HoldAsk ask, StopSource& stop) override {
    // Without a mailbox the grant would wait for the next poll.
    std::ignore = co_await mailbox_.wait_subscribed(std::chrono::steady_clock::now() + 1s, stop);
    co_return co_await loops_.hold(std::move(ask), stop);
  }

  Task<> shut_down() override {
    co_await loops_.shut_down();
    co_await mailbox_.shut_down();
    co_await redis_.shut_down();
  }

 private:
  std::unique_ptr<Clock> clock_;
  RedisClient redis_;
  std::unique_ptr<RedisLeaseQueue> queue_;
  HolderLoops loops_;
  RedisSubscription mailbox_;
};

class RedisWorkerLink final : public WorkerLink {
 public:
  RedisWorkerLink(const asio::any_io_executor& strand, const QueueConfig& config)
      : redis_(strand, redis_config(config)),
        queue_(make_redis_worker_queue(redis_, config.pool)) {}
  WorkerQueue& queue() override { return *queue_; }
  std::string trouble() const override { return redis_.last_failure(); }
  Task<> shut_down() override { return redis_.shut_down(); }

 private:
  RedisClient redis_;
  std::unique_ptr<WorkerQueue> queue_;
};

class RedisLeader final : public PoolLeader {
 public:
  RedisLeader(const asio::any_io_executor& strand, const QueueConfig& config,
              const PoolSettings& settings, RaiseEpoch raise)
      : clock_(make_steady_clock()),
        redis_(strand, redis_config(config)),
        queue_(make_redis_leader_queue(redis_, config.pool)),
        loop_(strand, *queue_, *clock_, settings, std::move(raise)) {}
  std::uint64_t epoch() const override { return loop_.epoch(); }
  bool deposed() const override { return loop_.deposed(); }
  LeaderQueue& queue() override { return *queue_; }
  Task<> shut_down() override {
    co_await loop_.shut_down();
    co_await redis_.shut_down();
  }

 private:
  std::unique_ptr<Clock> clock_;
  RedisClient redis_;
  std::unique_ptr<LeaderQueue> queue_;
  LeaderLoop loop_;
};

}  // namespace

Task<std::unique_ptr<LeaseHolder>> open_lease_holder(QueueConfig config, ClientId client) {
  const auto strand = co_await asio::this_coro::executor;
  co_return std::make_unique<RedisHolder>(strand, config, client);
}

Task<std::unique_ptr<WorkerLink>> open_worker_link(QueueConfig config) {
  const auto strand = co_await asio::this_coro::executor;
  co_return std::make_unique<RedisWorkerLink>(strand, config);
}

Task<std::unique_ptr<PoolLeader>> open_pool_leader(QueueConfig config, PoolSettings settings,
                                                   RaiseEpoch raise) {
  const auto strand = co_await asio::this_coro::executor;
  co_return std::make_unique<RedisLeader>(strand, config, settings, std::move(raise));
}

}  // namespace swage::lease
