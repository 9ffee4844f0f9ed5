#include "gpu_pool/lease/adapters/redis_lease_queue.hpp"

#include <utility>

#include "common/base/check.hpp"
#include "gpu_pool/lease/adapters/redis_messages.hpp"
#include "gpu_pool/lease/adapters/script_call.hpp"

namespace swage::lease {
namespace {

using std::chrono::milliseconds;

Grant grant_from(const GrantReply& reply, TimePoint asked) {
  return {RequestId(reply.request),
          GpuId(reply.gpu),
          reply.address,
          reply.token,
          reply.repeat,
          reply.repeat ? TimePoint{} : asked + milliseconds(reply.usable_ms)};
}

/// To the interface's terms; `asked` is when the call was sent.
AcquireAnswer acquire_answer(const AcquireReply& reply, TimePoint asked) {
  struct Convert {
    TimePoint asked;
    AcquireAnswer operator()(const Waiting& waiting) const { return waiting; }
    AcquireAnswer operator()(const GrantReply& grant) const { return grant_from(grant, asked); }
    AcquireAnswer operator()(const Ended& ended) const { return ended; }
    AcquireAnswer operator()(const FullReply& full) const {
      return QueueFull{milliseconds(full.retry_ms)};
    }
    AcquireAnswer operator()(const Closed& closed) const { return closed; }
  };
  return std::visit(Convert{asked}, reply);
}

PollAnswer poll_answer(const PollReply& reply) {
  if (const auto* grant = std::get_if<GrantReply>(&reply)) return grant_from(*grant, {});
  if (const auto* waiting = std::get_if<Waiting>(&reply)) return *waiting;
  if (const auto* ended = std::get_if<Ended>(&reply)) return *ended;
  return Unknown{};
}

class HolderQueue final : public RedisLeaseQueue {
 public:
  HolderQueue(RedisClient& redis, Clock& clock, const std::string& pool, ClientId client)
      : call_(redis, pool), clock_(clock), client_(std::move(client)) {
    check(valid_id(client_.str()), "a client id is [A-Za-z0-9._-]{1,96}");
  }

  Task<Result<AcquireAnswer, LeaseErrc>> acquire(HoldAsk ask, Duration age, bool first,
                                                 TimePoint deadline) override {
    check(valid_id(ask.request.str()) && valid_id(ask.run.str()), "ids are [A-Za-z0-9._-]{1,96}");
    check(ask.weight > 0, "a weight is above 0");
    const TimePoint asked = clock_.now();  // before sending: a slow answer must not stretch a lease
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(age).count();
    auto words = acquire_words(ask, client_.str(), micros, first);
    const auto value = co_await call_.call(lease_scripts().acquire, std::move(words), deadline);
    if (!value) co_return tl::unexpected(value.error());
    const auto reply = acquire_from(*value);
    if (!reply) co_return tl::unexpected(reply.error());
    co_return acquire_answer(*reply, asked);
  }

  Task<Result<Renewal, LeaseErrc>> renew(RequestId request, Token token,
                                         TimePoint deadline) override {
    const TimePoint asked = clock_.now();  // before sending
    const auto value =
        co_await call_.call(lease_scripts().renew, token_words(request.str(), token), deadline);
    if (!value) co_return tl::unexpected(value.error());
    const auto reply = renew_from(*value);
    if (!reply) co_return tl::unexpected(reply.error());
    co_return Renewal{asked + milliseconds(reply->usable_ms), milliseconds(reply->interval_ms)};
  }

  Task<Result<void, LeaseErrc>> release(RequestId request, Token token, ReleaseAs how,
                                        TimePoint deadline) override {
    const auto value = co_await call_.call(lease_scripts().release,
                                           release_words(request.str(), token, how), deadline);
    if (!value) co_return tl::unexpected(value.error());
    co_return ok_from(*value);
  }

  Task<Result<std::vector<PollAnswer>, LeaseErrc>> poll(std::vector<RequestId> requests,
                                                        TimePoint deadline) override {
    check(requests.size() <= 256, "a poll asks for at most 256 requests");
    Words words = {client_.str()};
    for (const auto& request : requests) words.push_back(request.str());
    const auto value = co_await call_.call(lease_scripts().poll, std::move(words), deadline);
    if (!value) co_return tl::unexpected(value.error());
    const auto replies = poll_from(*value);
    if (!replies) co_return tl::unexpected(replies.error());
    if (replies->size() != requests.size()) co_return tl::unexpected(LeaseErrc::bad_reply);
    std::vector<PollAnswer> answers;
    for (const auto& reply : *replies) answers.push_back(poll_answer(reply));
    co_return answers;
  }

  Task<Result<CancelAnswer, LeaseErrc>> cancel(RequestId request, TimePoint deadline) override {
    Words words = {request.str()};
    const auto value = co_await call_.call(lease_scripts().cancel, std::move(words), deadline);
    if (!value) co_return tl::unexpected(value.error());
    co_return cancel_from(*value);
  }

  void on_grant(std::function<void(Grant)> listener) override { listener_ = std::move(listener); }

  void heard(std::string message) override {
    const auto grant = mailed_from(message);
    if (grant && listener_) listener_(grant_from(*grant, {}));
  }

 private:
  ScriptCaller call_;
  Clock& clock_;
  ClientId client_;
  std::function<void(Grant)> listener_;
};

class GpuQueue final : public WorkerQueue {
 public:
  GpuQueue(RedisClient& redis, const std::string& pool) : call_(redis, pool) {}

  Task<Result<RegisterAnswer, LeaseErrc>> register_gpu(Registration registration,
                                                       TimePoint deadline) override {
    check(valid_id(registration.gpu.str()) && valid_id(registration.boot.str()),
          "ids are [A-Za-z0-9._-]{1,96}");
    const auto value =
        co_await call_.call(lease_scripts().register_gpu, register_words(registration), deadline);
    if (!value) co_return tl::unexpected(value.error());
    co_return register_from(*value);
  }

  Task<Result<HeartbeatAnswer, LeaseErrc>> heartbeat(GpuId gpu, BootId boot,
                                                     TimePoint deadline) override {
    Words words = {gpu.str(), boot.str()};
    const auto value = co_await call_.call(lease_scripts().heartbeat, std::move(words), deadline);
    if (!value) co_return tl::unexpected(value.error());
    co_return heartbeat_from(*value);
  }

  Task<Result<ClearedAnswer, LeaseErrc>> cleared(GpuId gpu, BootId boot, Token token, bool ok,
                                                 TimePoint deadline) override {
    Words words = {gpu.str(), boot.str(), std::to_string(token.epoch),
                   std::to_string(token.counter), ok ? "1" : "0"};
    const auto value = co_await call_.call(lease_scripts().cleared, std::move(words), deadline);
    if (!value) co_return tl::unexpected(value.error());
    co_return cleared_from(*value);
  }

  Task<Result<bool, LeaseErrc>> requalify(GpuId gpu, BootId boot, TimePoint deadline) override {
    Words words = {gpu.str(), boot.str()};
    const auto value = co_await call_.call(lease_scripts().requalify, std::move(words), deadline);
    if (!value) co_return tl::unexpected(value.error());
    co_return requalify_from(*value);
  }

 private:
  ScriptCaller call_;
};

class PoolQueue final : public LeaderQueue {
 public:
  PoolQueue(RedisClient& redis, const std::string& pool) : call_(redis, pool) {}

  Task<Result<ServerState, LeaseErrc>> inspect(TimePoint deadline) override {
    const auto value = co_await call_.call(lease_scripts().inspect, {}, deadline);
    if (!value) co_return tl::unexpected(value.error());
    co_return inspect_from(*value);
  }

  Task<Result<InstallAnswer, LeaseErrc>> install(std::uint64_t epoch, std::string server,
                                                 PoolSettings settings,
                                                 TimePoint deadline) override {
    const auto value = co_await call_.call(
        lease_scripts().install, install_words(epoch, server, settings_from(settings)), deadline);
    if (!value) co_return tl::unexpected(value.error());
    co_return install_from(*value);
  }

  Task<Result<SweepCounts, LeaseErrc>> sweep(std::uint64_t epoch, std::uint32_t limit,
                                             TimePoint deadline) override {
    Words words = {std::to_string(epoch), std::to_string(limit)};
    const auto value = co_await call_.call(lease_scripts().sweep, std::move(words), deadline);
    if (!value) co_return tl::unexpected(value.error());
    co_return sweep_from(*value);
  }

  Task<Result<void, LeaseErrc>> forget_gpu(std::uint64_t epoch, GpuId gpu,
                                           TimePoint deadline) override {
    return forget(epoch, "gpu", gpu.str(), deadline);
  }
  Task<Result<void, LeaseErrc>> forget_run(std::uint64_t epoch, RunUid run,
                                           TimePoint deadline) override {
    return forget(epoch, "run", run.str(), deadline);
  }

  Task<Result<PoolSnapshot, LeaseErrc>> snapshot(TimePoint deadline) override {
    const auto value = co_await call_.call(lease_scripts().snapshot, {}, deadline);
    if (!value) co_return tl::unexpected(value.error());
    co_return snapshot_from(*value);
  }

 private:
  Task<Result<void, LeaseErrc>> forget(std::uint64_t epoch, std::string kind, std::string id,
                                       TimePoint deadline) {
    Words words = {std::to_string(epoch), std::move(kind), std::move(id)};
    const auto value = co_await call_.call(lease_scripts().forget, std::move(words), deadline);
    if (!value) co_return tl::unexpected(value.error());
    co_return ok_from(*value);
  }

  ScriptCaller call_;
};

}  // namespace

std::unique_ptr<RedisLeaseQueue> make_redis_lease_queue(RedisClient& redis, Clock& clock,
                                                        std::string pool, ClientId client) {
  return std::make_unique<HolderQueue>(redis, clock, pool, std::move(client));
}

std::unique_ptr<WorkerQueue> make_redis_worker_queue(RedisClient& redis, std::string pool) {
  return std::make_unique<GpuQueue>(redis, pool);
}

std::unique_ptr<LeaderQueue> make_redis_leader_queue(RedisClient& redis, std::string pool) {
  return std::make_unique<PoolQueue>(redis, pool);
}

}  // namespace swage::lease
