#include "common/redis/client.hpp"

#include <gmock/gmock.h>
#include <signal.h>

#include "common/redis/subscription.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/task_runner.hpp"

namespace swage {
namespace {

using namespace std::chrono_literals;
using test::RedisServer;
using test::TaskRunner;

TimePoint in(Duration duration) { return std::chrono::steady_clock::now() + duration; }

/// A client against a real server, shut down at the end.
class RedisClientTest : public ::testing::Test {
 protected:
  void TearDown() override { run(client.shut_down()); }
  RedisReply ask(std::vector<std::string> words, Duration limit = 10s) {
    return run(client.command(std::move(words), in(limit)));
  }
  bool wait_connected() {
    return run.wait_until([&] { return client.connected(); });
  }

  RedisServer server;
  TaskRunner run;
  RedisClient client{run.executor(), {server.address(), "", true}};
};

TEST_F(RedisClientTest, ACommandIssuedBeforeTheConnectionStandsWaitsForIt) {
  EXPECT_FALSE(client.connected());
  const auto reply = ask({"ECHO", "hello"});
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->text, "hello");
}

TEST_F(RedisClientTest, RepliesComeBackInTheOrderOfTheCommands) {
  std::vector<TaskRunner::Handle<RedisReply>> replies;
  for (int i = 0; i < 200; ++i) {
    std::vector<std::string> words = {"ECHO", std::to_string(i)};
    replies.push_back(run.start(client.command(std::move(words), in(10s))));
  }
  ASSERT_TRUE(run.wait_until([&] { return replies.back()->ended; }));
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(replies[static_cast<std::size_t>(i)]->value()->text, std::to_string(i));
}

TEST_F(RedisClientTest, AnErrorReplyIsRefusedAndTheConnectionGoesOn) {
  const auto reply = ask({"HSET", "k"});
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, RedisErrc::refused);
  EXPECT_EQ(ask({"ECHO", "x"})->text, "x");
}

TEST_F(RedisClientTest, ALateReplyIsDroppedAndDoesNotShiftTheOthers) {
  ASSERT_TRUE(ask({"PING"}).has_value());
  server.signal(SIGSTOP);
  const auto late = ask({"ECHO", "late"}, 50ms);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, RedisErrc::unanswered);
  const auto next = run.start(client.command({"ECHO", "next"}, in(10s)));
  server.signal(SIGCONT);
  ASSERT_TRUE(run.wait_until([&] { return next->ended; }));
  EXPECT_EQ(next->value()->text, "next");
}

TEST_F(RedisClientTest, AKilledServerLeavesWrittenCommandsUnansweredAndIsFoundAgain) {
  ASSERT_TRUE(ask({"SET", "k", "v"}).has_value());
  server.signal(SIGSTOP);
  const auto written = run.start(client.command({"ECHO", "x"}, in(10s)));
  run.poll();
  server.kill();
  ASSERT_TRUE(run.wait_until([&] { return written->ended; }));
  ASSERT_FALSE(written->value().has_value());
  EXPECT_EQ(written->value().error().code, RedisErrc::unanswered);

  const auto unsent = ask({"ECHO", "y"}, 100ms);
  ASSERT_FALSE(unsent.has_value());
  EXPECT_EQ(unsent.error().code, RedisErrc::unreachable);
  EXPECT_THAT(client.last_failure(), ::testing::HasSubstr("connect"));

  server.start();
  const auto again = ask({"EXISTS", "k"});
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->integer, 0);
}

TEST_F(RedisClientTest, AScriptIsSentInFullOnlyWhenTheServerDoesNotKnowIt) {
  const RedisScript script("return {KEYS[1], ARGV[1]}");
  for (int i = 0; i < 2; ++i) {
    const auto reply = run(client.script(script, {"key"}, {"word"}, in(10s)));
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->items[0].text, "key");
    EXPECT_EQ(reply->items[1].text, "word");
  }
  const auto stats = ask({"INFO", "commandstats"});
  EXPECT_THAT(stats->text, ::testing::HasSubstr("cmdstat_eval:calls=1,"));
  EXPECT_THAT(stats->text, ::testing::HasSubstr("cmdstat_evalsha:calls=2,"));
}

TEST_F(RedisClientTest, ASubscriptionHearsMessagesAndReturnsAfterARestart) {
  std::vector<std::string> heard;
  int subscribed = 0;
  RedisSubscription subscription(
      run.executor(), {server.address(), "", true}, "box",
      [&](std::string message) { heard.push_back(std::move(message)); }, [&] { ++subscribed; });
  ASSERT_TRUE(run.wait_until([&] { return subscribed == 1; }));
  EXPECT_EQ(ask({"PUBLISH", "box", "one"})->integer, 1);
  ASSERT_TRUE(run.wait_until([&] { return heard.size() == 1; }));

  server.kill();
  ASSERT_TRUE(run.wait_until([&] { return !subscription.subscribed(); }));
  server.start();
  ASSERT_TRUE(run.wait_until([&] { return subscribed == 2; }));
  EXPECT_EQ(ask({"PUBLISH", "box", "two"})->integer, 1);
  ASSERT_TRUE(run.wait_until([&] { return heard.size() == 2; }));
  EXPECT_THAT(heard, ::testing::ElementsAre("one", "two"));
  run(subscription.shut_down());
}

TEST_F(RedisClientTest, ShuttingDownEndsWaitingCommands) {
  server.signal(SIGSTOP);
  const auto waiting = run.start(client.command({"PING"}, in(60s)));
  run(client.shut_down());
  ASSERT_TRUE(run.wait_until([&] { return waiting->ended; }));
  EXPECT_FALSE(waiting->value().has_value());
  server.signal(SIGCONT);
}

TEST(RedisClientAuth, TheRightPasswordIsLetInAndAWrongOneIsNot) {
  RedisServer server("secret");
  TaskRunner run;
  RedisClient right(run.executor(), {server.address(), "secret", true});
  EXPECT_TRUE(run(right.command({"PING"}, in(10s))).has_value());
  RedisClient wrong(run.executor(), {server.address(), "wrong", true});
  EXPECT_FALSE(run(wrong.command({"PING"}, in(300ms))).has_value());
  EXPECT_THAT(wrong.last_failure(), ::testing::HasSubstr("WRONGPASS"));
  run(right.shut_down());
  run(wrong.shut_down());
}

TEST(RedisClientAuth, AServerThatMayEvictKeysIsRefused) {
  RedisServer server("", "allkeys-lru");
  TaskRunner run;
  RedisClient client(run.executor(), {server.address(), "", true});
  EXPECT_FALSE(run(client.command({"PING"}, in(300ms))).has_value());
  EXPECT_THAT(client.last_failure(), ::testing::HasSubstr("noeviction"));
  run(client.shut_down());
}

}  // namespace
}  // namespace swage
