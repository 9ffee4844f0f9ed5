#include "common/k8s/elector.hpp"

#include <gmock/gmock.h>

#include <condition_variable>
#include <future>

#include "tests/support/fake_api_server.hpp"

namespace swage::k8s {
namespace {

using namespace std::chrono_literals;
using test::FakeApiServer;
using test::FakeExchange;

/// A Lease in the fake server, with compare-and-swap and a watch.
class ElectorTest : public ::testing::Test {
 protected:
  ElectorTest() {
    const std::string folder = "/apis/coordination.k8s.io/v1/namespaces/ns/leases";
    server.on("GET", folder, [this](FakeExchange& exchange) { list_or_watch(exchange); });
    server.on("GET", folder + "/l", [this](FakeExchange& exchange) {
      const std::lock_guard lock(mutex);
      if (silent) return exchange.cut();
      if (lease.is_null()) return FakeApiServer::refuse(404)(exchange);
      exchange.reply(200, lease.dump());
    });
    const auto write = [this](FakeExchange& exchange) { store(exchange); };
    server.on("POST", folder, write);
    server.on("PUT", folder + "/l", write);
  }
  void list_or_watch(FakeExchange& exchange) {
    if (exchange.request().query.contains("watch")) {
      watch(exchange);
      return;
    }
    exchange.reply(200, R"({"metadata":{"resourceVersion":"1"},"items":[]})");
  }
  void watch(FakeExchange& exchange) {
    exchange.begin_stream();
    int shown = 1;
    std::unique_lock lock(mutex);
    while (!over) {
      if (version == shown) {
        changed.wait(lock);
        continue;
      }
      shown = version;
      const auto line = Json{{"type", "MODIFIED"}, {"object", lease}}.dump() + "\n";
      lock.unlock();
      exchange.chunk(line);
      lock.lock();
    }
  }
  void TearDown() override {
    const std::lock_guard lock(mutex);
    over = true;
    changed.notify_all();
  }
  void store(FakeExchange& exchange) {
    const std::lock_guard lock(mutex);
    if (silent) return exchange.cut();
    auto body = Json::parse(exchange.request().body);
    const auto sent = meta_of(body).resource_version;
    if (sent != (lease.is_null() ? "" : meta_of(lease).resource_version))
      return FakeApiServer::refuse(409, "Conflict")(exchange);
    body["metadata"]["resourceVersion"] = std::to_string(++version);
    lease = std::move(body);
    changed.notify_all();
    if (lose_next_answer) {
      lose_next_answer = false;
      return exchange.cut();
    }
    exchange.reply(200, lease.dump());
  }
  LeaseRecord stored() {
    const std::lock_guard lock(mutex);
    return lease.is_null() ? LeaseRecord{} : lease_record(lease);
  }
  ElectorOptions options(const std::string& identity) {
    ElectionTimes fast{3s, 2s, 200ms, 500ms};
    return {server.config(), "ns", "l", identity, identity + ":1", fast};
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  Json lease;
  int version = 1;
  bool silent = false, lose_next_answer = false;
  FakeApiServer server;
};

/// What one elector has told.
struct Heard {
  std::promise<std::uint64_t> leading;
  std::promise<std::string> lost;
  std::future<std::uint64_t> led = leading.get_future();
  std::future<std::string> over = lost.get_future();
  ElectorEvents events() {
    return {[this](std::uint64_t epoch) { leading.set_value(epoch); }, nullptr,
            [this](const std::string& why) { lost.set_value(why); }};
  }
};

TEST_F(ElectorTest, OneLeadsAndItsSuccessorNeedNotWaitForTheLeaseToRunOut) {
  Heard first, second;
  const auto slow = [this](const std::string& identity) {
    auto out = options(identity);
    out.times = {60s, 40s, 200ms, 5s};  // to wait for the lease's end would take a minute
    return out;
  };
  auto a = std::make_unique<Elector>(slow("a"), first.events());
  EXPECT_EQ(first.led.get(), 1U);
  EXPECT_TRUE(a->leading());
  EXPECT_EQ(stored().address, "a:1");
  Elector b(slow("b"), second.events());
  a->stop();
  EXPECT_FALSE(a->leading());
  ASSERT_EQ(second.led.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(second.led.get(), 2U);
  EXPECT_EQ(stored().holder, "b");
}

TEST_F(ElectorTest, ALeaderThatCannotRenewIsOverInItsTimeAndHearsOfIt) {
  Heard heard;
  Elector a(options("a"), heard.events());
  heard.led.get();
  {
    const std::lock_guard lock(mutex);
    silent = true;
  }
  ASSERT_EQ(heard.over.wait_for(10s), std::future_status::ready);
  EXPECT_FALSE(a.leading());
}

TEST_F(ElectorTest, TheWatchdogEndsALeaderWhoseThreadHangs) {
  std::atomic<bool> released = false;
  Heard heard;
  Elector a(options("a"), heard.events());
  heard.led.get();
  a.hang_until(released);
  ASSERT_EQ(heard.over.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(heard.over.get(), "the Lease was not renewed in time");
  EXPECT_FALSE(a.leading());
  released = true;
  released.notify_all();
}

TEST_F(ElectorTest, ALostAnswerToARenewalCostsNothing) {
  Heard heard;
  Elector a(options("a"), heard.events());
  heard.led.get();
  {
    const std::lock_guard lock(mutex);
    lose_next_answer = true;
  }
  EXPECT_EQ(heard.over.wait_for(2s), std::future_status::timeout);
  EXPECT_TRUE(a.leading());
  EXPECT_EQ(stored().epoch, 1U);
}

}  // namespace
}  // namespace swage::k8s
