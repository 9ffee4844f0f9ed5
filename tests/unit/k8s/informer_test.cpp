#include "common/k8s/informer.hpp"

#include <gmock/gmock.h>

#include <future>

#include "common/k8s/discover.hpp"
#include "common/k8s/event_recorder.hpp"
#include "tests/support/fake_api_server.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/task_runner.hpp"
#include "tests/unit/k8s/pod_texts.hpp"

namespace swage::k8s {
namespace {

using namespace std::chrono_literals;
using test::FakeApiServer;
using test::FakeClock;
using test::FakeExchange;
using test::TaskRunner;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Lists and watches are both GETs of one path: `lists` and `watches` are taken in their order, the
/// last of each for ever. Time is the fake clock's; advance_waits() ends back-offs.
class InformerTest : public ::testing::Test {
 protected:
  using Script = FakeApiServer::Script;

  void serve(std::vector<Script> lists, std::vector<Script> watches) {
    lists_.assign(lists.begin(), lists.end());
    watches_.assign(watches.begin(), watches.end());
    server.on("GET", kPath, [this](FakeExchange& exchange) {
      auto& scripts = exchange.request().query.contains("watch") ? watches_ : lists_;
      const auto script = take(scripts);
      script(exchange);
    });
    running = run.start(informer.run(stop));
  }
  Script take(std::deque<Script>& scripts) {
    const std::lock_guard lock(mutex_);
    auto script = scripts.front();
    if (scripts.size() > 1) scripts.pop_front();
    return script;
  }
  template <class Condition>
  bool wait(Condition condition) {
    return run.wait_until([&] {
      if (clock.sleepers() > 0) clock.advance(31s);
      return condition();
    });
  }
  static Script stream(std::vector<std::string> chunks) {
    return [chunks = std::move(chunks)](FakeExchange& exchange) {
      exchange.begin_stream();
      for (const auto& chunk : chunks) exchange.chunk(chunk);
      exchange.stall();
    };
  }
  static Script ending(std::vector<std::string> chunks) {
    return [chunks = std::move(chunks)](FakeExchange& exchange) {
      exchange.begin_stream();
      for (const auto& chunk : chunks) exchange.chunk(chunk);
      exchange.end_stream();
    };
  }
  /// resourceVersions of the lists and watches that the server has seen, e.g. `list 0`.
  std::vector<std::string> asked() const {
    std::vector<std::string> out;
    for (const auto& request : server.requests()) {
      const auto& query = request.query;
      const auto version = query.find("resourceVersion");
      auto text = std::string(query.contains("watch") ? "watch" : "list") +
                  (version == query.end() ? "" : " " + version->second);
      // Without it a list of pages is of that very version, however old.
      if (text.starts_with("list ") && text != "list 0" && !query.contains("resourceVersionMatch"))
        text += " exactly";
      if (const auto more = query.find("continue"); more != query.end())
        text += " +" + more->second;
      out.push_back(std::move(text));
    }
    return out;
  }
  std::string values() const {
    std::string out;
    for (const auto& [key, entry] : informer.objects())
      out += entry.meta.name + entry.value.text + " ";
    return out;
  }
  void TearDown() override {
    stop.request(StopReason::requested);
    if (running) EXPECT_TRUE(run.wait_until([&] { return running->ended; }));
    server.end();
  }

  FakeApiServer server;
  TaskRunner run;
  FakeClock clock;
  StopSource stop;
  std::unique_ptr<Clock> steady = make_steady_clock();
  std::unique_ptr<Transport> transport = make_rest_transport(server.config(), *steady);
  // The transport's deadlines are real; back-offs are the fake clock's, which starts after it.
  Client client{*transport, clock, {0, 0}, [] { return 0.5; }};
  Informer<Value> informer{run.executor(), client, {kPods, "ns"}, {"app=x", ""}, nullptr};
  TaskRunner::Handle<char> running;
  std::deque<Script> lists_, watches_;
  std::mutex mutex_;
};

TEST_F(InformerTest, PagesAndEventsMakeOneCopy) {
  serve({FakeApiServer::answer(list({pod("a", 1)}, 5, "t")),
         FakeApiServer::answer(list({pod("b", 2)}, 5))},
        {stream({event("ADDED", pod("c", 6)) + event("MODIFIED", pod("a", 7, "!")),
                 event("DELETED", pod("b", 8)),
                 event("BOOKMARK", {{"metadata", {{"resourceVersion", "20"}}}})})});
  ASSERT_TRUE(wait([&] { return informer.reflector().reflection().resource_version() == "20"; }));
  EXPECT_EQ(values(), "a! c ");
  EXPECT_THAT(asked(), ElementsAre("list 0", "list +t", "watch 5"));
  const auto requests = server.requests();
  EXPECT_EQ(requests[0].query.at("limit"), "500");
  EXPECT_EQ(requests[0].query.at("labelSelector"), "app=x");
  EXPECT_EQ(requests[2].query.at("allowWatchBookmarks"), "true");
  EXPECT_EQ(requests[2].query.at("timeoutSeconds"), "450");
}

TEST_F(InformerTest, AnExpiredContinueTokenIsFollowedByTheOneInTheRefusal) {
  const auto expired = [](FakeExchange& exchange) {
    exchange.reply(410, R"({"code":410,"reason":"Expired","metadata":{"continue":"t2"}})");
  };
  serve({FakeApiServer::answer(list({pod("a", 1)}, 5, "t")), expired,
         FakeApiServer::answer(list({pod("b", 9)}, 9))},
        {stream({})});
  ASSERT_TRUE(wait([&] { return asked().size() == 4; }));
  EXPECT_THAT(asked(), ElementsAre("list 0", "list +t", "list +t2", "watch 5"));
  EXPECT_EQ(values(), "a b ");
}

TEST_F(InformerTest, AGoneInsideAStreamAndOneAsAStatusListAgain) {
  serve(
      {FakeApiServer::answer(list({pod("a", 1)}, 5)), FakeApiServer::answer(list({pod("b", 7)}, 8)),
       FakeApiServer::answer(list({pod("c", 9)}, 12))},
      {stream({gone_text()}), FakeApiServer::refuse(410, "Gone"), stream({})});
  ASSERT_TRUE(wait([&] { return asked().size() == 6; }));
  EXPECT_THAT(asked(), ElementsAre("list 0", "watch 5", "list 5", "watch 8", "list", "watch 12"));
  EXPECT_EQ(values(), "c ");
}

TEST_F(InformerTest, AFutureRevisionListsFromTheStore) {
  const auto ahead = [](FakeExchange& exchange) {
    exchange.reply(500,
                   R"({"message":"etcdserver: mvcc: required revision is a future revision"})");
  };
  const auto too_large = [](FakeExchange& exchange) {
    exchange.reply(504, R"({"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}})");
  };
  serve({FakeApiServer::answer(list({pod("a", 4)}, 5)), FakeApiServer::answer(list({}, 3))},
        {ahead, too_large, stream({})});
  ASSERT_TRUE(wait([&] { return asked().size() == 6; }));
  EXPECT_THAT(asked(), ElementsAre("list 0", "watch 5", "list", "watch 3", "list", "watch 3"));
  EXPECT_EQ(values(), "");
}

TEST_F(InformerTest, AStreamCutInAChunkGoesOnFromItsLastWholeEvent) {
  const auto cut = [](FakeExchange& exchange) {
    exchange.begin_stream();
    const auto next = event("ADDED", pod("c", 7));
    exchange.chunk(event("ADDED", pod("b", 6)) + next.substr(0, 20));
    exchange.cut_in_chunk(next.substr(20, 20));
  };
  serve({FakeApiServer::answer(list({pod("a", 1)}, 5))},
        {cut, stream({event("ADDED", pod("c", 7))})});
  ASSERT_TRUE(wait([&] { return informer.objects().size() == 3; }));
  EXPECT_THAT(asked(), ElementsAre("list 0", "watch 5", "watch 6"));
}

TEST_F(InformerTest, RepeatedAndReorderedEventsLeaveTheNewest) {
  serve({FakeApiServer::answer(list({}, 5))},
        {stream({event("ADDED", pod("a", 8, "new")), event("ADDED", pod("a", 8, "new")),
                 event("MODIFIED", pod("a", 7, "old")), event("DELETED", pod("a", 6)),
                 event("ADDED", pod("z", 9))})});
  ASSERT_TRUE(wait([&] { return informer.objects().size() == 2; }));
  EXPECT_EQ(values(), "anew z ");
  EXPECT_EQ(informer.reflector().reflection().resource_version(), "9");
}

TEST_F(InformerTest, AStaleListIsNotBelieved) {
  serve({FakeApiServer::answer(list({pod("a", 9)}, 9)), FakeApiServer::answer(list({}, 2)),
         FakeApiServer::answer(list({pod("a", 9)}, 9))},
        {stream({gone_text()}), stream({})});
  ASSERT_TRUE(wait([&] { return asked().size() == 5; }));
  EXPECT_THAT(asked(), ElementsAre("list 0", "watch 9", "list 9", "list", "watch 9"));
  EXPECT_EQ(values(), "a ");
}

TEST_F(InformerTest, AServerThatEndsEachWatchAtOnceIsNotAskedInALoop) {
  serve({FakeApiServer::answer(list({}, 5))}, {ending({})});
  ASSERT_TRUE(run.wait_until([&] { return asked().size() == 2 && clock.sleepers() == 1; }));
  clock.advance(399ms);  // half of 800 ms, as the random number says
  run.poll();
  EXPECT_EQ(clock.sleepers(), 1U);
  clock.advance(1ms);
  EXPECT_TRUE(run.wait_until([&] { return asked().size() == 3; }));
}

TEST_F(InformerTest, AnUnreadableLineIsGivenUpAndTheWatchMadeAgain) {
  serve({FakeApiServer::answer(list({}, 5))},
        {stream({"not JSON\n"}), stream({event("ADDED", pod("a", 6))})});
  ASSERT_TRUE(wait([&] { return informer.objects().size() == 1; }));
  EXPECT_EQ(informer.reflector().counts().watch_failures, 1);
}

TEST_F(InformerTest, AnOwnWriteIsWaitedForAndALostOneIsAskedFor) {
  std::promise<void> now;
  const auto told = now.get_future().share();
  const auto later = [told](FakeExchange& exchange) {
    exchange.begin_stream();
    told.wait();
    exchange.chunk(event("ADDED", pod("mine", 7)));
    exchange.stall();
  };
  server.on("GET", std::string(kPath) + "/lost", FakeApiServer::answer(pod("lost", 6).dump()));
  serve({FakeApiServer::answer(list({}, 5))}, {later});
  ASSERT_TRUE(wait([&] { return informer.synced(); }));
  auto& expectations = informer.expectations();
  for (const char* name : {"ns/mine", "ns/lost", "ns/never"})
    expectations.creating(name, clock.now());
  const auto seen = run.start(informer.wait_for("7", stop));
  EXPECT_FALSE(seen->ended);
  now.set_value();
  ASSERT_TRUE(wait([&] { return seen->ended; }));
  EXPECT_TRUE(seen->value());
  EXPECT_EQ(expectations.unseen(), 2U);
  clock.advance(30s);
  run(informer.confirm_overdue(clock.now() + 10s, stop));
  EXPECT_EQ(expectations.unseen(), 0U);
  EXPECT_EQ(values(), "lost mine ");
}

TEST_F(InformerTest, WhatIsThrottledIsSentAgainAfterTheWaitThatTheServerAsksFor) {
  server.on("POST", kPath, FakeApiServer::refuse(429, "", {{"Retry-After", "2"}}));
  server.on("POST", kPath, FakeApiServer::answer(pod("a", 1).dump()));
  const auto made = run.start(client.create({kPods, "ns"}, pod("a", 0), clock.now() + 1h, stop));
  ASSERT_TRUE(run.wait_until([&] { return clock.sleepers() == 1; }));
  clock.advance(2499ms);  // 2 s, and of the second that may come on top half, as the number says
  run.poll();
  EXPECT_EQ(clock.sleepers(), 1U);
  clock.advance(1ms);
  ASSERT_TRUE(run.wait_until([&] { return made->ended; }));
  EXPECT_TRUE(made->value().has_value());
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(InformerTest, ThrottlingBeyondTheDeadlineIsAnError) {
  server.on("POST", kPath, FakeApiServer::refuse(429, "", {{"Retry-After", "60"}}));
  const auto made = run(client.create({kPods, "ns"}, pod("a", 0), clock.now() + 10s, stop));
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Errc::throttled);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(InformerTest, AnApplyThatMeetsAnotherManagerNamesIt) {
  server.on("PATCH", std::string(kPath) + "/a", [](FakeExchange& exchange) {
    exchange.reply(409, R"({"reason":"Conflict","details":{"causes":[
      {"reason":"FieldManagerConflict","message":"conflict with \"kubectl\" using v1"}]}})");
  });
  const auto applied = run(client.apply({kPods, "ns", "a"}, "", {{"spec", {{"x", 1}}}},
                                        "swage-controller", clock.now() + 10s, stop));
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error().code, Errc::conflict);
  EXPECT_THAT(applied.error().managers, ElementsAre("kubectl"));
  const auto request = server.requests().at(0);
  EXPECT_EQ(request.query.at("fieldManager"), "swage-controller");
  EXPECT_EQ(request.query.at("force"), "false");
  EXPECT_EQ(request.content_type, "application/apply-patch+yaml");
  EXPECT_EQ(Json::parse(request.body).at("kind"), "Pod");
}

TEST_F(InformerTest, RemovingWhatIsGoneOrAnotherIsSuccessAndNamesTheUid) {
  const auto path = std::string(kPath) + "/a";
  server.on("DELETE", path, FakeApiServer::refuse(404));
  server.on("DELETE", path, FakeApiServer::refuse(409, "Conflict"));
  server.on("DELETE", path, FakeApiServer::refuse(403, "Forbidden"));
  const auto remove = [this] {
    return run(client.remove({kPods, "ns", "a"}, {"u1", 2}, clock.now() + 10s, stop));
  };
  EXPECT_TRUE(remove().has_value());
  EXPECT_TRUE(remove().has_value());
  EXPECT_EQ(remove().error().code, Errc::forbidden);
  const auto body = Json::parse(server.requests().at(0).body);
  EXPECT_EQ(body.at("preconditions").at("uid"), "u1");
  EXPECT_EQ(body.at("gracePeriodSeconds"), 2);
}

TEST_F(InformerTest, AGroupIsDiscoveredInThePreferredVersion) {
  server.on("GET", "/apis/g.x", FakeApiServer::answer(R"({"preferredVersion":{"version":"v2"}})"));
  server.on("GET", "/apis/g.x/v2", FakeApiServer::answer(R"({"resources":[
    {"name":"things","kind":"Thing","namespaced":true},{"name":"things/status","kind":"Thing"}]})"));
  const auto types = run(discover(client, "g.x", clock.now() + 10s, stop));
  ASSERT_TRUE(types.has_value());
  ASSERT_EQ(types->size(), 1U);
  EXPECT_EQ(types->front().api_version(), "g.x/v2");
  EXPECT_TRUE(types->front().namespaced);
  EXPECT_EQ(run(discover(client, "none", clock.now() + 10s, stop)).error().code, Errc::not_found);
}

TEST_F(InformerTest, EventsAreWrittenOnceAndThenCounted) {
  EventRecorder recorder(run.executor(), client, "swage.dev/controller", "me");
  const std::string path = "/apis/events.k8s.io/v1/namespaces/ns/events";
  server.on("POST", path, FakeApiServer::answer("{}", 201));
  const auto writing = run.start(recorder.run(stop));
  for (int i = 0; i < 5; ++i)
    recorder.note({{"v1", "Pod", "ns", "p", "u"}, "Lost", "a sandbox was lost", true});
  ASSERT_TRUE(run.wait_until([&] { return recorder.written() == 1; }));
  const auto made = Json::parse(server.requests().at(0).body);
  EXPECT_EQ(made.at("regarding").at("uid"), "u");
  EXPECT_EQ(made.at("type"), "Warning");
  const auto name = made.at("metadata").at("name").get<std::string>();
  server.on("PATCH", path + "/" + name, FakeApiServer::answer("{}"));
  clock.advance(10s);
  ASSERT_TRUE(run.wait_until([&] { return recorder.written() == 2; }));
  EXPECT_EQ(Json::parse(server.requests().at(1).body).at("series").at("count"), 5);
  stop.request(StopReason::requested);
  EXPECT_TRUE(run.wait_until([&] { return writing->ended; }));
}

}  // namespace
}  // namespace swage::k8s
