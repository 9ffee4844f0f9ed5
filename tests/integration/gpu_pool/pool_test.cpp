// Real Redis, real gRPC, the GPU worker's real service; only the judge is fake.
#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "common/asio/process.hpp"
#include "common/redis/client.hpp"
#include "gpu_pool/lease/adapters/redis_lease_queue.hpp"
#include "gpu_pool/lease/api/leader_queue.hpp"
#include "gpu_pool/worker/app/gpu_worker.hpp"
#include "tests/integration/gpu_pool/evaluate_call.hpp"
#include "tests/support/fake_judge_runner.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/task_runner.hpp"

namespace swage {
namespace {

using namespace std::chrono_literals;
using test::Evaluated;
using test::FakeJudgeRunner;
using test::TaskRunner;

constexpr auto kPool = "swage-pools.cpu";
constexpr auto kToken = "internal-token";

class PoolTest : public ::testing::Test {
 protected:
  PoolTest() {
    leader = run(lease::open_pool_leader(
        queue(), settings(), [this](std::uint64_t at_least) { return raise(at_least); }));
    c0 = run(lease::open_lease_holder(queue(), lease::ClientId("c0")));
    c1 = run(lease::open_lease_holder(queue(), lease::ClientId("c1")));
  }
  void TearDown() override {
    run(c0->shut_down());
    run(c1->shut_down());
    stop_worker();
    run(leader->shut_down());
  }

  lease::QueueConfig queue() const { return {redis.address(), "", kPool}; }
  static lease::PoolSettings settings() {  // short, so that expiry can be waited for
    lease::PoolSettings short_ones;
    short_ones.ttl = 5s;
    short_ones.claim = 2s;
    short_ones.margin = 1s;
    short_ones.worker_absent = 3s;
    return short_ones;
  }
  Task<std::optional<std::uint64_t>> raise(std::uint64_t at_least) {
    stored = std::max(stored, at_least) + 1;
    co_return stored;
  }
  worker::WorkerConfig config() const {
    worker::WorkerConfig made;
    made.process.name = "gpu-0";
    made.process.listen = "unix:" + (directory.path() / "gpu.sock").string();
    made.process.token = kToken;
    made.queue = queue();
    made.gpu = lease::GpuId("gpu-0");
    made.address = made.process.listen;
    made.drain = 1s;
    return made;
  }
  void start_worker() {
    worker = run.start(worker::serve_gpu(config(), runner, stop));
    ASSERT_TRUE(wait_gpu("idle"));
  }
  void stop_worker() {
    if (!worker) return;
    stop.request(StopReason::requested);
    ASSERT_TRUE(run.wait_until([&] { return worker->ended; }));
    EXPECT_EQ(worker->value(), 0);
  }
  /// The same service in a process of its own. kind: quick or endless.
  std::unique_ptr<Process> spawn_worker(const std::string& kind) {
    const auto file = directory.path() / "worker.json";
    std::ofstream(directory.path() / "token") << kToken;
    std::ofstream(file) << nlohmann::json{{"name", "gpu-0"},
                                          {"listen", config().process.listen},
                                          {"token_file", (directory.path() / "token").string()},
                                          {"redis", {{"address", redis.address()}}},
                                          {"pool", kPool},
                                          {"gpu", "gpu-0"},
                                          {"verdict_key_file", "/dev/null"},
                                          {"python", "/bin/true"},
                                          {"model_host_directory", "/"},
                                          {"judge_binary", "/bin/true"},
                                          {"cache_directory", "/"}}
                               .dump();
    ProcessSpec spec;
    const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    spec.argv = {(program / "fake_judge_worker").string(), file.string(), kind};
    spec.env = current_environment();
    auto process = Process::start(run.executor(), spec);
    if (!process) throw std::runtime_error(process.error().message);
    return std::move(*process);
  }
  lease::PoolSnapshot snapshot() {
    auto shot = run(leader->queue().snapshot(std::chrono::steady_clock::now() + 5s));
    return shot ? *shot : lease::PoolSnapshot{};
  }
  bool wait_gpu(const std::string& state) {
    return run.wait_until([&] {
      const auto shot = snapshot();
      return shot.gpus.size() == 1 && shot.gpus[0].state == state;
    });
  }
  static lease::HoldAsk ask(const std::string& request) {
    lease::HoldAsk wanted;
    wanted.request = lease::RequestId(request);
    wanted.run = lease::RunUid("run");
    return wanted;
  }
  std::unique_ptr<lease::Lease> take(lease::LeaseHolder& holder, const std::string& request) {
    auto held = run(holder.hold(ask(request), never));
    return held ? std::move(*held) : nullptr;
  }
  bool release(lease::Lease& lease, lease::ReleaseAs how = lease::ReleaseAs::clear) {
    return run(lease.release(how));
  }
  /// One client's life: `count` evaluations, one after the other.
  Task<int> work(lease::LeaseHolder& holder, std::string name, int count) {
    int verdicts = 0;
    for (int i = 0; i < count; ++i) {
      const std::string request = name + "." + std::to_string(i);
      auto held = co_await holder.hold(ask(request), never);
      if (!held) continue;
      tokens.push_back((*held)->token());
      const auto outcome = co_await test::evaluate_under(**held, request, kToken);
      if (outcome.verdict == "verdict of " + request) ++verdicts;
      std::ignore = co_await (*held)->release(lease::ReleaseAs::clear);
    }
    co_return verdicts;
  }

  test::RedisServer redis;
  test::TempDirectory directory;
  TaskRunner run;
  std::uint64_t stored = 0;
  StopSource stop, never;
  FakeJudgeRunner runner{run.executor()};
  TaskRunner::Handle<int> worker;
  std::unique_ptr<lease::PoolLeader> leader;
  std::unique_ptr<lease::LeaseHolder> c0, c1;
  std::vector<lease::Token> tokens;
};

TEST_F(PoolTest, TwoClientsShareOneGpuAndNeverAtTheSameTime) {
  start_worker();
  runner.immediate = true;
  const auto first = run.start(work(*c0, "a", 10));
  const auto second = run.start(work(*c1, "b", 10));
  ASSERT_TRUE(run.wait_until([&] { return first->ended && second->ended; }, 60s));
  EXPECT_EQ(first->value(), 10);
  EXPECT_EQ(second->value(), 10);
  ASSERT_EQ(tokens.size(), 20U);
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));  // the order in which they ran
  EXPECT_EQ(std::set(tokens.begin(), tokens.end()).size(), 20U);
  const auto shot = snapshot();
  EXPECT_EQ(shot.waiting + shot.leased, 0U);
  EXPECT_EQ(shot.counters.at("released"), 20U);
}

TEST_F(PoolTest, ACallThatBrokeOffIsJoinedByTheSameCall) {
  start_worker();
  const auto lease = take(*c0, "a");
  ASSERT_NE(lease, nullptr);
  StopSource cut;
  const auto broken = run.start(test::evaluate(lease->address(), "a", lease->token(), kToken, cut));
  ASSERT_TRUE(run.wait_until([&] { return runner.running == "a"; }));
  cut.request(StopReason::requested);
  ASSERT_TRUE(run.wait_until([&] { return broken->ended; }));
  EXPECT_EQ(runner.running, "a");
  const auto joined = run.start(test::evaluate_under(*lease, "a", kToken));
  run.wait_until([&] { return joined->ended; }, 300ms);
  runner.progress({"checks", 1, 5});
  runner.finish(judge::JudgeOutcome{"the verdict", "hmac"});
  ASSERT_TRUE(run.wait_until([&] { return joined->ended; }));
  EXPECT_EQ(joined->value().verdict, "the verdict");
  EXPECT_EQ(run(test::evaluate_under(*lease, "a", kToken)).verdict, "the verdict");
  EXPECT_EQ(run(test::evaluate_under(*lease, "b", kToken)).refusal,
            v1::EVALUATE_REFUSAL_DUPLICATE_TOKEN);
  EXPECT_TRUE(release(*lease));
}

TEST_F(PoolTest, ACallWithoutTheInternalTokenIsNotServed) {
  start_worker();
  const auto lease = take(*c0, "a");
  ASSERT_NE(lease, nullptr);
  EXPECT_THAT(run(test::evaluate_under(*lease, "a", "wrong")).status,
              ::testing::HasSubstr("bearer"));
  EXPECT_FALSE(runner.was("start a"));
  release(*lease);
}

TEST_F(PoolTest, AnEvaluateDelayedPastItsLeaseIsRefusedByAnIdleGpu) {
  start_worker();
  const auto clock = make_steady_clock();
  RedisClient client(run.executor(), {redis.address(), "", true});
  const auto raw = lease::make_redis_lease_queue(client, *clock, kPool, lease::ClientId("raw"));
  const auto answer = run(raw->acquire(ask("late"), {}, true, clock->now() + 5s));
  const auto grant = std::get<lease::Grant>(*answer);
  ASSERT_TRUE(run.wait_until([&] { return runner.log.size() >= 2; }));  // CLEAR came
  ASSERT_TRUE(wait_gpu("idle"));
  StopSource none;
  const auto outcome = run(test::evaluate(grant.address, "late", grant.token, kToken, none));
  EXPECT_EQ(outcome.refusal, v1::EVALUATE_REFUSAL_STALE);
  EXPECT_EQ(run(raw->renew(grant.request, grant.token, clock->now() + 5s)).error(),
            lease::LeaseErrc::expired);
  run(client.shut_down());
}

TEST_F(PoolTest, AKilledWorkersRequestWaitsAgainAndTheNextBootServesIt) {
  const auto first = spawn_worker("endless");
  ASSERT_TRUE(wait_gpu("idle"));
  auto lease = take(*c0, "a");
  ASSERT_NE(lease, nullptr);
  const auto token = lease->token();
  const auto lost = run.start(test::evaluate_under(*lease, "a", kToken));
  run.wait_until([&] { return lost->ended; }, 500ms);
  EXPECT_FALSE(lost->ended);
  first->signal(SIGKILL, false);
  ASSERT_TRUE(run.wait_until([&] { return lost->ended; }));
  EXPECT_FALSE(lost->value().status.empty());

  const auto second = spawn_worker("quick");
  ASSERT_TRUE(run.wait_until([&] { return lease->lost().stopping(); }));
  EXPECT_EQ(lease->lost_because(), lease::LeaseErrc::requeued);
  EXPECT_TRUE(release(*lease, lease::ReleaseAs::retry));
  const auto again = take(*c0, "a");  // the same request, with its rank
  ASSERT_NE(again, nullptr);
  EXPECT_GT(again->token(), token);
  EXPECT_EQ(run(test::evaluate_under(*again, "a", kToken)).verdict, "verdict of a");
  EXPECT_TRUE(release(*again));
  EXPECT_TRUE(wait_gpu("idle"));
  second->signal(SIGTERM, false);
  const int status = run(second->wait());
  EXPECT_EQ(describe_status(status), "exit code 0");
}

TEST_F(PoolTest, RedisRestartedEmptyLosesNothing) {
  start_worker();
  const auto lease = take(*c0, "a");
  ASSERT_NE(lease, nullptr);
  const auto running = run.start(test::evaluate_under(*lease, "a", kToken));
  const auto waiting = run.start(c1->hold(ask("b"), never));
  ASSERT_TRUE(run.wait_until([&] { return runner.running == "a"; }));
  const auto until = lease->usable_until();

  redis.kill();
  run.wait_until([] { return false; }, 500ms);
  redis.start();
  ASSERT_TRUE(run.wait_until([&] { return snapshot().epoch == 2; }));
  ASSERT_TRUE(wait_gpu("leased"));  // registered again, its lease restored
  ASSERT_TRUE(run.wait_until([&] { return lease->usable_until() > until; }));
  EXPECT_EQ(runner.running, "a");

  runner.finish(judge::JudgeOutcome{"the verdict", "hmac"});
  ASSERT_TRUE(run.wait_until([&] { return running->ended; }));
  EXPECT_EQ(running->value().verdict, "the verdict");
  EXPECT_TRUE(release(*lease));
  ASSERT_TRUE(run.wait_until([&] { return waiting->ended; }));
  const auto next = std::move(*waiting->value());
  EXPECT_EQ(next->token().epoch, 2U);
  runner.immediate = true;
  EXPECT_EQ(run(test::evaluate_under(*next, "b", kToken)).verdict, "verdict of b");
  EXPECT_TRUE(release(*next));
}

TEST_F(PoolTest, AHolderCutOffFromRedisStopsAndTheJudgeEndsWithTheLease) {
  start_worker();
  const auto lease = take(*c0, "a");
  ASSERT_NE(lease, nullptr);
  const auto running = run.start(test::evaluate_under(*lease, "a", kToken));
  ASSERT_TRUE(run.wait_until([&] { return runner.running == "a"; }));
  redis.signal(SIGSTOP);
  ASSERT_TRUE(run.wait_until([&] { return lease->lost().stopping(); }));
  EXPECT_GE(std::chrono::steady_clock::now(), lease->usable_until());
  EXPECT_EQ(lease->lost_because(), lease::LeaseErrc::unanswered);
  redis.signal(SIGCONT);
  ASSERT_TRUE(run.wait_until([&] { return runner.was("killed a"); }));
  release(*lease, lease::ReleaseAs::unsure);
  ASSERT_TRUE(wait_gpu("idle"));
}

}  // namespace
}  // namespace swage
