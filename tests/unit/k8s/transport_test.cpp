#include "common/k8s/transport.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include "tests/support/fake_api_server.hpp"
#include "tests/support/task_runner.hpp"

namespace swage::k8s {
namespace {

using namespace std::chrono_literals;
using test::FakeApiServer;
using test::FakeExchange;
using test::TaskRunner;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TransportTest : public ::testing::Test {
 protected:
  Result<std::string, Error> ask(Transport& transport, Request request, Duration limit = 10s) {
    return run(transport.request(std::move(request), clock->now() + limit, stop));
  }
  Result<std::string, Error> get(Transport& transport, Duration limit = 10s) {
    return ask(transport, {"GET", "/x", ""}, limit);
  }
  Result<bool, Error> watch(Transport& transport) {
    return run(transport.stream(
        {"GET", "/x", ""},
        [this](std::string line) {
          lines.push_back(std::move(line));
          return lines.size() < enough;
        },
        stop));
  }

  TaskRunner run;
  std::unique_ptr<Clock> clock = make_steady_clock();
  StopSource stop;
  FakeApiServer server;
  std::vector<std::string> lines;
  std::size_t enough = 1000;
};

TEST_F(TransportTest, ARequestCarriesItsTokenTypeAndBodyAndBringsTheAnswer) {
  server.on("PATCH", "/x", FakeApiServer::answer("{\"a\":1}"));
  auto transport = make_rest_transport(server.config(), *clock);
  const auto body = ask(*transport, {"PATCH", "/x?fieldManager=me%2Fyou", "{\"b\":2}",
                                     "application/merge-patch+json"});
  ASSERT_TRUE(body.has_value()) << body.error().message;
  EXPECT_EQ(*body, "{\"a\":1}");
  const auto seen = server.requests().at(0);
  EXPECT_EQ(seen.query.at("fieldManager"), "me/you");
  EXPECT_EQ(seen.authorization, "Bearer good");
  EXPECT_EQ(seen.content_type, "application/merge-patch+json");
  EXPECT_EQ(seen.body, "{\"b\":2}");
}

TEST_F(TransportTest, ARefusalIsAnErrorWithItsKindAndItsRetryAfter) {
  server.on("GET", "/x", FakeApiServer::refuse(429, "TooManyRequests", {{"Retry-After", "7"}}));
  auto transport = make_rest_transport(server.config(), *clock);
  const auto body = get(*transport);
  ASSERT_FALSE(body.has_value());
  EXPECT_EQ(body.error().code, Errc::throttled);
  EXPECT_EQ(body.error().retry_after, 7s);
  EXPECT_THAT(body.error().message, HasSubstr("TooManyRequests"));
}

TEST_F(TransportTest, AServerThatAnotherAuthorityVouchesForIsNotTrusted) {
  server.on("GET", "/x", FakeApiServer::answer("{}"));
  FakeApiServer other;
  auto config = server.config();
  config.authority = other.config().authority;
  auto stranger = make_rest_transport(config, *clock);
  const auto body = get(*stranger);
  ASSERT_FALSE(body.has_value());
  EXPECT_EQ(body.error().code, Errc::transport);
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(TransportTest, ARotatedAuthorityIsTakenWithoutANewTransport) {
  server.on("GET", "/x", FakeApiServer::answer("{}"));
  auto transport = make_rest_transport(server.config(), *clock);
  EXPECT_TRUE(get(*transport).has_value());
  server.rotate();
  // The connection that was kept may be found dead once; the next one uses the new file.
  const bool first = get(*transport).has_value();
  EXPECT_TRUE(first || get(*transport).has_value());
}

TEST_F(TransportTest, ARefusedTokenIsReadAgainFromItsFileAndTheRequestRepeatedOnce) {
  test::TempDirectory folder;
  const auto file = folder.path() / "token";
  std::ofstream(file) << "old\n";
  server.on("GET", "/x", [file](FakeExchange& exchange) {
    if (exchange.request().authorization == "Bearer new") return exchange.reply(200, "{}");
    std::ofstream(file) << "new\n";  // the kubelet replaces it
    FakeApiServer::refuse(401, "Unauthorized")(exchange);
  });
  auto config = server.config();
  config.token_file = file;
  auto transport = make_rest_transport(config, *clock);
  EXPECT_TRUE(get(*transport).has_value());
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(TransportTest, ATokenThatStaysRefusedIsAnErrorAfterOneRepetition) {
  test::TempDirectory folder;
  const auto file = folder.path() / "token";
  std::ofstream(file) << "old";
  server.on("GET", "/x", FakeApiServer::refuse(401, "Unauthorized"));
  auto config = server.config();
  config.token_file = file;
  auto transport = make_rest_transport(config, *clock);
  const auto body = get(*transport);
  ASSERT_FALSE(body.has_value());
  EXPECT_EQ(body.error().code, Errc::unauthorized);
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(TransportTest, ARequestThatIsNotAnsweredEndsAtItsDeadline) {
  server.on("GET", "/x", [](FakeExchange& exchange) { exchange.stall(); });
  auto transport = make_rest_transport(server.config(), *clock);
  const auto before = clock->now();
  const auto body = get(*transport, 200ms);
  ASSERT_FALSE(body.has_value());
  EXPECT_EQ(body.error().code, Errc::transport);
  EXPECT_EQ(body.error().message, "no answer in time");
  EXPECT_LT(clock->now() - before, 5s);
}

TEST_F(TransportTest, StoppingEndsARequestUnderWay) {
  server.on("GET", "/x", [](FakeExchange& exchange) { exchange.stall(); });
  auto transport = make_rest_transport(server.config(), *clock);
  const auto body = run.start(transport->request({"GET", "/x", ""}, clock->now() + 60s, stop));
  ASSERT_TRUE(run.wait_until([&] { return server.requests().size() == 1; }));
  stop.request(StopReason::requested);
  ASSERT_TRUE(run.wait_until([&] { return body->ended; }));
  EXPECT_EQ(body->value().error().code, Errc::stopped);
}

TEST_F(TransportTest, AnAnswerThatIsLostIsATransportErrorAndNotRepeated) {
  server.on("POST", "/x", [](FakeExchange& exchange) { exchange.cut(); });
  auto transport = make_rest_transport(server.config(), *clock);
  const auto body = ask(*transport, {"POST", "/x", "{}"});
  ASSERT_FALSE(body.has_value());
  EXPECT_EQ(body.error().code, Errc::transport);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(TransportTest, NoMoreRequestsAreInFlightThanAllowed) {
  std::promise<void> all_started;
  const auto started = all_started.get_future().share();
  server.on("GET", "/x", [started](FakeExchange& exchange) {
    started.wait();
    exchange.reply(200, "{}");
  });
  TransportLimits limits;
  limits.in_flight = 3;
  auto transport = make_rest_transport(server.config(), *clock, limits);
  std::vector<TaskRunner::Handle<Result<std::string, Error>>> all;
  for (int i = 0; i < 40; ++i)
    all.push_back(run.start(transport->request({"GET", "/x", ""}, clock->now() + 20s, stop)));
  EXPECT_TRUE(run.wait_until([&] { return server.requests().size() == 3; }));
  all_started.set_value();
  for (const auto& one : all) {
    ASSERT_TRUE(run.wait_until([&] { return one->ended; }));
    EXPECT_TRUE(one->value().has_value());
  }
  EXPECT_EQ(server.most_at_once(), 3);
}

TEST_F(TransportTest, AWaiterForAPlaceLeavesAtItsDeadline) {
  server.on("GET", "/x", [](FakeExchange& exchange) { exchange.stall(); });
  TransportLimits limits;
  limits.in_flight = 1;
  auto transport = make_rest_transport(server.config(), *clock, limits);
  const auto first = run.start(transport->request({"GET", "/x", ""}, clock->now() + 60s, stop));
  const auto second = get(*transport, 100ms);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message, HasSubstr("not sent"));
  stop.request(StopReason::requested);
  ASSERT_TRUE(run.wait_until([&] { return first->ended; }));
}

TEST_F(TransportTest, LinesOfAStreamComeWholeHoweverTheyAreCut) {
  server.on("GET", "/x", [](FakeExchange& exchange) {
    exchange.begin_stream();
    exchange.chunk("{\"a\":1}\n{\"b\"");
    exchange.chunk(":2}\n\n{\"c\":3}\n{\"d\"");
    exchange.chunk(":4}");
    exchange.end_stream();
  });
  auto transport = make_rest_transport(server.config(), *clock);
  const auto ended = watch(*transport);
  ASSERT_TRUE(ended.has_value()) << ended.error().message;
  EXPECT_THAT(lines, ElementsAre("{\"a\":1}", "{\"b\":2}", "{\"c\":3}", "{\"d\":4}"));
}

TEST_F(TransportTest, AStreamThatIsCutInAChunkKeepsItsWholeLinesAndIsAnError) {
  server.on("GET", "/x", [](FakeExchange& exchange) {
    exchange.begin_stream();
    exchange.chunk("whole\n");
    exchange.cut_in_chunk("par");
  });
  auto transport = make_rest_transport(server.config(), *clock);
  const auto ended = watch(*transport);
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().code, Errc::transport);
  EXPECT_THAT(lines, ElementsAre("whole"));
}

TEST_F(TransportTest, AStreamWithoutAStatusIsGivenUpLongBeforeASilentOne) {
  server.on("GET", "/x", [](FakeExchange& exchange) { exchange.stall(); });
  TransportLimits limits;
  limits.answer = 200ms;
  auto transport = make_rest_transport(server.config(), *clock, limits);
  const auto ended = watch(*transport);
  ASSERT_FALSE(ended.has_value());
  EXPECT_THAT(ended.error().message, HasSubstr("no answer in time"));
}

TEST_F(TransportTest, BytesThatMakeNoLineAreSilence) {
  const auto chunks = std::make_shared<std::atomic<int>>(0);  // the script outlives this test
  server.on("GET", "/x", [chunks](FakeExchange& exchange) {
    exchange.begin_stream();
    for (;; ++*chunks) {
      exchange.chunk("x");
      std::this_thread::sleep_for(50ms);  // the server's pace, which the client cannot wait for
    }
  });
  TransportLimits limits;
  limits.silence = 400ms;
  auto transport = make_rest_transport(server.config(), *clock, limits);
  const auto ended = watch(*transport);
  ASSERT_FALSE(ended.has_value());
  EXPECT_THAT(ended.error().message, HasSubstr("silent"));
  EXPECT_GT(*chunks, 2);
}

TEST_F(TransportTest, AfterARequestWithoutAnAnswerNoKeptConnectionIsUsed) {
  server.on("GET", "/x", FakeApiServer::answer("{}"));
  TransportLimits limits;
  limits.answer = 300ms;
  auto transport = make_rest_transport(server.config(), *clock, limits);
  std::vector<TaskRunner::Handle<Result<std::string, Error>>> all;
  for (int i = 0; i < 5; ++i)
    all.push_back(run.start(transport->request({"GET", "/x", ""}, clock->now() + 9s, stop)));
  for (const auto& one : all) ASSERT_TRUE(run.wait_until([&] { return one->ended; }));
  server.freeze_connections();
  EXPECT_FALSE(get(*transport).has_value());
  EXPECT_TRUE(get(*transport).has_value());
}

TEST_F(TransportTest, ASilentStreamIsGivenUp) {
  server.on("GET", "/x", [](FakeExchange& exchange) {
    exchange.begin_stream();
    exchange.chunk("one\n");
    exchange.stall();
  });
  TransportLimits limits;
  limits.silence = 1s;
  auto transport = make_rest_transport(server.config(), *clock, limits);
  const auto ended = watch(*transport);
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().code, Errc::transport);
  EXPECT_THAT(lines, ElementsAre("one"));
}

TEST_F(TransportTest, ALineThatIsTooLongBreaksTheStream) {
  server.on("GET", "/x", [](FakeExchange& exchange) {
    exchange.begin_stream();
    exchange.chunk("ok\n");
    exchange.chunk(std::string(600, 'x'));
    exchange.chunk(std::string(600, 'x'));
    exchange.stall();
  });
  TransportLimits limits;
  limits.line = 1000;
  auto transport = make_rest_transport(server.config(), *clock, limits);
  const auto ended = watch(*transport);
  ASSERT_FALSE(ended.has_value());
  EXPECT_THAT(ended.error().message, HasSubstr("too long"));
}

TEST_F(TransportTest, AReaderThatFallsBehindLosesTheStreamAndNotTheMemory) {
  const auto server_done = std::make_shared<std::atomic<bool>>(false);
  server.on("GET", "/x", [server_done](FakeExchange& exchange) {
    // chunk() throws when the client has gone.
    const std::shared_ptr<void> at_end(nullptr, [server_done](void*) { *server_done = true; });
    exchange.begin_stream();
    const std::string line = std::string(1000, 'x') + "\n";
    for (int i = 0; i < 20'000; ++i) exchange.chunk(line);  // more than sockets hold
    exchange.end_stream();
  });
  TransportLimits limits;
  limits.unread = 50'000;
  auto transport = make_rest_transport(server.config(), *clock, limits);
  // The reader stays at its first line while the server sends.
  const auto ended = run.start(transport->stream(
      {"GET", "/x", ""},
      [this, server_done](std::string line) {
        lines.push_back(std::move(line));
        const auto end = clock->now() + 10s;
        while (!*server_done && clock->now() < end) std::this_thread::yield();
        return true;
      },
      stop));
  ASSERT_TRUE(run.wait_until([&] { return ended->ended; }));
  ASSERT_FALSE(ended->value().has_value());
  EXPECT_THAT(ended->value().error().message, HasSubstr("fallen behind"));
  EXPECT_LT(lines.size(), 1000U);
}

TEST_F(TransportTest, AStreamEndsWhenItsReaderHasEnoughOrIsStopped) {
  server.on("GET", "/x", [](FakeExchange& exchange) {
    exchange.begin_stream();
    exchange.chunk("one\ntwo\n");
    exchange.stall();
  });
  auto transport = make_rest_transport(server.config(), *clock);
  enough = 1;
  EXPECT_TRUE(watch(*transport).has_value());
  EXPECT_THAT(lines, ElementsAre("one"));

  enough = 1000;
  const auto ended = run.start(transport->stream(
      {"GET", "/x", ""},
      [this](std::string line) {
        lines.push_back(std::move(line));
        return true;
      },
      stop));
  ASSERT_TRUE(run.wait_until([&] { return lines.size() == 3; }));
  stop.request(StopReason::requested);
  ASSERT_TRUE(run.wait_until([&] { return ended->ended; }));
  EXPECT_EQ(ended->value().error().code, Errc::stopped);
}

TEST_F(TransportTest, ARefusedStreamTellsWhy) {
  server.on("GET", "/x", FakeApiServer::refuse(410, "Expired"));
  auto transport = make_rest_transport(server.config(), *clock);
  const auto ended = watch(*transport);
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().code, Errc::gone);
  EXPECT_EQ(ended.error().reason, "Expired");
  EXPECT_TRUE(lines.empty());
}

}  // namespace
}  // namespace swage::k8s
