// How much a Redis core can do for the lease queue: leases.md §8, figures by the server's own CPU
// time. Prints one JSON object. lease_bench [cycles]
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/redis/client.hpp"
#include "common/redis/subscription.hpp"
#include "gpu_pool/lease/adapters/redis_lease_queue.hpp"
#include "gpu_pool/lease/adapters/redis_messages.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/task_runner.hpp"

namespace swage {
namespace {

using namespace std::chrono_literals;

constexpr auto kPool = "bench.cpu";
constexpr auto kLimit = 10min;

TimePoint soon() { return std::chrono::steady_clock::now() + 60s; }

/// A queue on a Redis of its own, with idle GPUs, and clients that share one connection.
class Bench {
 public:
  explicit Bench(int gpus) {
    const auto leader = lease::make_redis_leader_queue(redis_, kPool);
    const auto state = run_(leader->inspect(soon()));
    lease::PoolSettings settings;
    settings.waiting_client = 4096;
    settings.worker_absent = std::chrono::hours(1);
    settings.client_silent = std::chrono::hours(1);
    std::ignore = run_(leader->install(1, state->server, settings, soon()));
    const auto worker = lease::make_redis_worker_queue(redis_, kPool);
    for (int i = 0; i < gpus; ++i) {
      lease::Registration registration;
      registration.gpu = lease::GpuId("gpu-" + std::to_string(i));
      registration.boot = lease::BootId("boot");
      registration.address = "10.0.0." + std::to_string(i) + ":7070";
      std::ignore = run_(worker->register_gpu(std::move(registration), soon()));
    }
    queue_->on_grant([this](lease::Grant grant) {
      granted_[grant.request.str()] = grant.token;
      arrived_.notify();
    });
    run_.wait_until([this] { return mailbox_.subscribed(); });
  }
  ~Bench() {
    run_(gate_.join());
    run_(mailbox_.shut_down());
    run_(redis_.shut_down());
  }

  /// Cycles per second of the server's main thread.
  double cycles(int count, int clients, bool claim) {
    claim_ = claim;
    const double before = cpu_seconds();
    const int each = count / clients;
    int done = 0;
    for (int i = 0; i < clients; ++i) std::ignore = gate_.spawn("client", client(i, each, &done));
    run_.wait_until([&] { return done == clients; }, kLimit);
    return each * clients / (cpu_seconds() - before);
  }

  /// Bytes that `waiting` requests take.
  std::int64_t memory_of(int waiting) {
    const double before = info("memory", "used_memory");
    for (int i = 0; i < waiting; ++i)
      std::ignore =
          run_(queue_->acquire(ask(i % 8, "wait-" + std::to_string(i)), {}, true, soon()));
    return static_cast<std::int64_t>(info("memory", "used_memory") - before);
  }

 private:
  static lease::HoldAsk ask(int run, const std::string& request) {
    lease::HoldAsk wanted;
    wanted.request = lease::RequestId(request);
    wanted.run = lease::RunUid("run-" + std::to_string(run));
    wanted.cls = static_cast<lease::RequestClass>(run % 3);
    return wanted;
  }

  Task<> client(int number, int count, int* done) {
    for (int i = 0; i < count; ++i) {
      const std::string request = std::to_string(number) + "." + std::to_string(i);
      const auto answer = co_await queue_->acquire(ask(number % 8, request), {}, true, soon());
      if (!answer) continue;
      lease::Token token;
      const auto* grant = std::get_if<lease::Grant>(&*answer);
      if (grant != nullptr) {
        token = grant->token;
      } else {
        while (!granted_.contains(request)) co_await arrived_.wait(stop_);
        token = granted_.extract(request).mapped();
      }
      const lease::RequestId id(request);
      if (claim_) std::ignore = co_await queue_->renew(id, token, soon());
      std::ignore = co_await queue_->release(id, token, lease::ReleaseAs::clear, soon());
    }
    ++*done;
  }

  double info(const std::string& section, const std::string& field) {
    const auto reply = run_(redis_.command({"INFO", section}, soon()));
    const auto at = reply->text.find(field + ":");
    return std::strtod(reply->text.c_str() + at + field.size() + 1, nullptr);
  }
  double cpu_seconds() {
    return info("cpu", "used_cpu_user_main_thread") + info("cpu", "used_cpu_sys_main_thread");
  }

  test::RedisServer server_;
  test::TaskRunner run_;
  std::unique_ptr<Clock> clock_ = make_steady_clock();
  RedisClient redis_{run_.executor(), {server_.address(), "", true}};
  std::unique_ptr<lease::RedisLeaseQueue> queue_ =
      lease::make_redis_lease_queue(redis_, *clock_, kPool, lease::ClientId("bench"));
  RedisSubscription mailbox_{run_.executor(),
                             {server_.address(), "", true},
                             lease::mailbox_channel(kPool, "bench"),
                             [this](std::string message) { queue_->heard(std::move(message)); },
                             {}};
  std::map<std::string, lease::Token> granted_;
  Event arrived_{run_.executor()};
  bool claim_ = false;
  StopSource stop_;
  Gate gate_{run_.executor(), stop_};
};

}  // namespace
}  // namespace swage

int main(int argc, char** argv) {
  const int cycles = argc > 1 ? std::atoi(argv[1]) : 20'000;
  nlohmann::json figures;
  {
    swage::Bench bench(128);
    figures["acquire_release_idle_cycles_per_redis_second"] = bench.cycles(cycles, 64, false);
  }
  {
    swage::Bench bench(8);
    figures["acquire_claim_release_contended_cycles_per_redis_second"] =
        bench.cycles(cycles, 64, true);
  }
  {
    swage::Bench bench(128);
    figures["bytes_128_leased_4096_waiting"] = bench.memory_of(128 + 4096);
  }
  std::printf("%s\n", figures.dump(2).c_str());
  return 0;
}
