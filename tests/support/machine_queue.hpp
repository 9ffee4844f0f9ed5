#pragma once

#include <map>
#include <string>
#include <utility>

#include "common/asio/clock.hpp"
#include "gpu_pool/lease/core/machine.hpp"

namespace swage::test {

/// A lease queue without Redis: the core machine behind the interfaces, at the test's own clock.
/// `down`: calls are unreachable. `lose_answers`: calls happen, and are unanswered. Mail goes to
/// the listener of its client, unless `lose_mail`.
class MachineQueue {
 public:
  explicit MachineQueue(Clock& clock) : clock_(clock) {}

  /// Installs an epoch on the present server.
  void install(std::uint64_t epoch, lease::PoolSettings settings = {}) {
    at();
    std::ignore = machine.install(epoch, server, lease::settings_from(settings));
  }
  void add_gpu(const std::string& gpu, const std::string& boot = "boot") {
    at();
    lease::Registration registration;
    registration.gpu = lease::GpuId(gpu);
    registration.boot = lease::BootId(boot);
    registration.address = "unix:/" + gpu;
    std::ignore = machine.register_gpu(registration);
    deliver();
  }
  void at() {
    const auto since = clock_.now().time_since_epoch();
    machine.at(std::chrono::duration_cast<std::chrono::microseconds>(since).count(), server);
  }
  /// Sends what the machine has mailed.
  void deliver() {
    for (auto& mail : machine.mailed()) {
      const auto listener = listeners.find(mail.client);
      if (lose_mail || listener == listeners.end()) continue;
      listener->second({lease::RequestId(mail.grant.request),
                        lease::GpuId(mail.grant.gpu),
                        mail.grant.address,
                        mail.grant.token,
                        true,
                        {}});
    }
  }
  /// One call: what it does to the machine, and what the caller hears of it.
  template <class T, class Act>
  Result<T, lease::LeaseErrc> call(Act act) {
    if (down) return tl::unexpected(lease::LeaseErrc::unreachable);
    at();
    auto reply = act();
    deliver();
    if (lose_answers) return tl::unexpected(lease::LeaseErrc::unanswered);
    return reply;
  }
  TimePoint now() const { return clock_.now(); }

  std::string server = "server-1";
  bool down = false, lose_answers = false, lose_mail = false;
  std::map<std::string, std::function<void(lease::Grant)>> listeners;
  lease::Machine machine{[this](const std::string& client) { return listeners.contains(client); }};

 private:
  Clock& clock_;
};

/// One client's end of a MachineQueue.
class MachineHolder final : public lease::LeaseQueue {
 public:
  MachineHolder(MachineQueue& queue, std::string client)
      : queue_(queue), client_(std::move(client)) {}

  Task<Result<lease::AcquireAnswer, lease::LeaseErrc>> acquire(lease::HoldAsk ask, Duration age,
                                                               bool first, TimePoint) override {
    const auto asked = queue_.now();
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(age).count();
    auto reply = queue_.call<lease::AcquireReply>(
        [&] { return queue_.machine.acquire(ask, client_, micros, first); });
    if (!reply) co_return tl::unexpected(reply.error());
    if (const auto* waiting = std::get_if<lease::Waiting>(&*reply)) co_return *waiting;
    if (const auto* ended = std::get_if<lease::Ended>(&*reply)) co_return *ended;
    if (std::holds_alternative<lease::Closed>(*reply)) co_return lease::Closed{};
    if (const auto* full = std::get_if<lease::FullReply>(&*reply))
      co_return lease::QueueFull{std::chrono::milliseconds(full->retry_ms)};
    co_return grant(std::get<lease::GrantReply>(*reply), asked);
  }
  Task<Result<lease::Renewal, lease::LeaseErrc>> renew(lease::RequestId request, lease::Token token,
                                                       TimePoint) override {
    const auto asked = queue_.now();
    const auto reply =
        queue_.call<lease::RenewReply>([&] { return queue_.machine.renew(request.str(), token); });
    if (!reply) co_return tl::unexpected(reply.error());
    co_return lease::Renewal{asked + std::chrono::milliseconds(reply->usable_ms),
                             std::chrono::milliseconds(reply->interval_ms)};
  }
  Task<Result<void, lease::LeaseErrc>> release(lease::RequestId request, lease::Token token,
                                               lease::ReleaseAs how, TimePoint) override {
    co_return queue_.call<void>([&] { return queue_.machine.release(request.str(), token, how); });
  }
  Task<Result<std::vector<lease::PollAnswer>, lease::LeaseErrc>> poll(
      std::vector<lease::RequestId> requests, TimePoint) override {
    std::vector<std::string> ids;
    for (const auto& request : requests) ids.push_back(request.str());
    const auto replies = queue_.call<std::vector<lease::PollReply>>(
        [&] { return queue_.machine.poll(client_, ids); });
    if (!replies) co_return tl::unexpected(replies.error());
    std::vector<lease::PollAnswer> answers;
    for (const auto& reply : *replies) {
      if (const auto* found = std::get_if<lease::GrantReply>(&reply)) {
        answers.emplace_back(grant(*found, {}));
      } else if (const auto* waiting = std::get_if<lease::Waiting>(&reply)) {
        answers.emplace_back(*waiting);
      } else if (const auto* ended = std::get_if<lease::Ended>(&reply)) {
        answers.emplace_back(*ended);
      } else {
        answers.emplace_back(lease::Unknown{});
      }
    }
    co_return answers;
  }
  Task<Result<lease::CancelAnswer, lease::LeaseErrc>> cancel(lease::RequestId request,
                                                             TimePoint) override {
    co_return queue_.call<lease::CancelAnswer>(
        [&] { return queue_.machine.cancel(request.str()); });
  }
  void on_grant(std::function<void(lease::Grant)> listener) override {
    if (listener) {
      queue_.listeners[client_] = std::move(listener);
    } else {
      queue_.listeners.erase(client_);
    }
  }

 private:
  static lease::Grant grant(const lease::GrantReply& reply, TimePoint asked) {
    return {lease::RequestId(reply.request),
            lease::GpuId(reply.gpu),
            reply.address,
            reply.token,
            reply.repeat,
            asked + std::chrono::milliseconds(reply.usable_ms)};
  }
  MachineQueue& queue_;
  std::string client_;
};

/// A GPU worker's end of a MachineQueue.
class MachineWorker final : public lease::WorkerQueue {
 public:
  explicit MachineWorker(MachineQueue& queue) : queue_(queue) {}
  Task<Result<lease::RegisterAnswer, lease::LeaseErrc>> register_gpu(
      lease::Registration registration, TimePoint) override {
    co_return queue_.call<lease::RegisterAnswer>(
        [&] { return queue_.machine.register_gpu(registration); });
  }
  Task<Result<lease::HeartbeatAnswer, lease::LeaseErrc>> heartbeat(lease::GpuId gpu,
                                                                   lease::BootId boot,
                                                                   TimePoint) override {
    co_return queue_.call<lease::HeartbeatAnswer>(
        [&] { return queue_.machine.heartbeat(gpu.str(), boot.str()); });
  }
  Task<Result<lease::ClearedAnswer, lease::LeaseErrc>> cleared(lease::GpuId gpu, lease::BootId boot,
                                                               lease::Token token, bool ok,
                                                               TimePoint) override {
    co_return queue_.call<lease::ClearedAnswer>(
        [&] { return queue_.machine.cleared(gpu.str(), boot.str(), token, ok); });
  }
  Task<Result<bool, lease::LeaseErrc>> requalify(lease::GpuId gpu, lease::BootId boot,
                                                 TimePoint) override {
    co_return queue_.call<bool>([&] { return queue_.machine.requalify(gpu.str(), boot.str()); });
  }

 private:
  MachineQueue& queue_;
};

/// The leader's end of a MachineQueue.
class MachineLeader final : public lease::LeaderQueue {
 public:
  explicit MachineLeader(MachineQueue& queue) : queue_(queue) {}
  Task<Result<lease::ServerState, lease::LeaseErrc>> inspect(TimePoint) override {
    co_return queue_.call<lease::ServerState>([&] { return queue_.machine.inspect(); });
  }
  Task<Result<lease::InstallAnswer, lease::LeaseErrc>> install(std::uint64_t epoch,
                                                               std::string server,
                                                               lease::PoolSettings settings,
                                                               TimePoint) override {
    co_return queue_.call<lease::InstallAnswer>(
        [&] { return queue_.machine.install(epoch, server, lease::settings_from(settings)); });
  }
  Task<Result<lease::SweepCounts, lease::LeaseErrc>> sweep(std::uint64_t epoch, std::uint32_t limit,
                                                           TimePoint) override {
    co_return queue_.call<lease::SweepCounts>([&] { return queue_.machine.sweep(epoch, limit); });
  }
  Task<Result<void, lease::LeaseErrc>> forget_gpu(std::uint64_t epoch, lease::GpuId gpu,
                                                  TimePoint) override {
    co_return queue_.call<void>([&] { return queue_.machine.forget_gpu(epoch, gpu.str()); });
  }
  Task<Result<void, lease::LeaseErrc>> forget_run(std::uint64_t epoch, lease::RunUid run,
                                                  TimePoint) override {
    co_return queue_.call<void>([&] { return queue_.machine.forget_run(epoch, run.str()); });
  }
  Task<Result<lease::PoolSnapshot, lease::LeaseErrc>> snapshot(TimePoint) override {
    co_return queue_.call<lease::PoolSnapshot>([&] { return queue_.machine.snapshot(); });
  }

 private:
  MachineQueue& queue_;
};

}  // namespace swage::test
