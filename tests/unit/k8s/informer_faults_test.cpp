#include <gmock/gmock.h>

#include <deque>
#include <future>

#include "common/k8s/informer.hpp"
#include "tests/support/fake_api_server.hpp"
#include "tests/support/task_runner.hpp"
#include "tests/unit/k8s/pod_texts.hpp"

namespace swage::k8s {
namespace {

using namespace std::chrono_literals;
using test::FakeApiServer;
using test::FakeExchange;
using test::TaskRunner;
using ::testing::ElementsAre;

/// An API server whose pods change while an informer cannot see it, and which then has forgotten
/// all versions before the change, as after its restart: pod `a` of version 1 goes, pod `b` comes,
/// from version 5 to 20. What `lists` and `watches` hold is done first, one for each request.
class World {
 public:
  using Script = FakeApiServer::Script;

  World() {
    server.on("GET", kPath, [this](FakeExchange& exchange) { answer(exchange); });
  }
  ~World() { server.end(); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void change() {
    const std::lock_guard lock(mutex_);
    version_ = 20;
    changed_.set_value();
  }
  /// For scripts: returns when change() has been called.
  void wait_for_change() { change_.wait(); }
  int listed() const { return listed_; }
  int watched() const { return watched_; }

  FakeApiServer server;
  std::deque<Script> lists, watches;  // set before the informer starts

 private:
  void answer(FakeExchange& exchange) {
    const auto& query = exchange.request().query;
    const bool watch = query.contains("watch");
    std::unique_lock lock(mutex_);
    auto& scripts = watch ? watches : lists;
    // The first list shows the state that the fault is to be survived from.
    if (!scripts.empty() && (watch || listed_ > 0)) {
      const auto script = std::move(scripts.front());
      scripts.pop_front();
      ++(watch ? watched_ : listed_);
      lock.unlock();
      return script(exchange);
    }
    const int version = version_;
    ++(watch ? watched_ : listed_);
    lock.unlock();
    const auto at = query.find("resourceVersion");
    const int asked = at == query.end() || at->second.empty() ? 0 : std::stoi(at->second);
    if (watch) return send_watch(exchange, asked, version);
    // The API server's rule: with a limit a version means that one, unless the match says
    // otherwise.
    const bool exactly = asked != 0 && !query.contains("resourceVersionMatch");
    exchange.reply(200, text_of(exactly ? asked : version));
  }
  static std::string text_of(int version) {
    return version < 20 ? list({pod("a", 1)}, 5) : list({pod("b", 18)}, 20);
  }
  void send_watch(FakeExchange& exchange, int asked, int version) {
    exchange.begin_stream();
    if (asked < version) return exchange.chunk(gone_text());
    if (version == 20) exchange.chunk(event("ADDED", pod("c", 21)));
    exchange.stall();
  }

  std::mutex mutex_;
  int version_ = 5;
  std::promise<void> changed_;
  std::shared_future<void> change_ = changed_.get_future().share();
  std::atomic<int> listed_ = 0, watched_ = 0;
};

using Fake = FakeApiServer;
void never_answers(FakeExchange& exchange) { exchange.stall(); }
void says_nothing_more(FakeExchange& exchange) {
  exchange.begin_stream();
  exchange.stall();
}
/// etcd's own words, as API servers pass them on.
void etcd_changes_its_leader(FakeExchange& exchange) {
  exchange.reply(500, R"({"code":500,"message":"etcdserver: leader changed"})");
}

/// What happens to one informer: `before` sets the answers that the server gives at first,
/// `befall` does the rest after the change, `heal` ends it once the informer has met it twice.
struct Fault {
  std::string name;
  std::function<void(World&)> before;
  std::function<void(World&)> befall = nullptr;
  std::function<void(World&)> heal = nullptr;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

void reset(World& world) { world.server.drop_connections(); }

/// The connection is cut, and then the first lists are answered by `scripts`.
Fault then_lists(std::string name, std::vector<World::Script> scripts) {
  return {std::move(name),
          [scripts = std::move(scripts)](World& world) {
            world.lists.assign(scripts.begin(), scripts.end());
          },
          reset};
}
Fault then_watches(std::string name, std::vector<World::Script> scripts) {
  scripts.insert(scripts.begin(), says_nothing_more);
  return {std::move(name),
          [scripts = std::move(scripts)](World& world) {
            world.watches.assign(scripts.begin(), scripts.end());
          },
          reset};
}
/// The first watch waits for the change and then ends as `how` says.
Fault watch_ends(std::string name, std::function<void(FakeExchange&)> how) {
  return {std::move(name), [how = std::move(how)](World& world) {
            world.watches.push_back([&world, how](FakeExchange& exchange) {
              exchange.begin_stream();
              world.wait_for_change();
              how(exchange);
            });
          }};
}

std::vector<Fault> faults() {
  const auto none = [](World&) {};
  return {
      {"ResetInTheWatch", none, reset},
      watch_ends("EndInGoodOrder", [](FakeExchange& e) { e.end_stream(); }),
      watch_ends("CutInAChunk", [](FakeExchange& e) { e.cut_in_chunk("{\"type\""); }),
      watch_ends("GoneInTheStream", [](FakeExchange& e) { e.chunk(gone_text()); }),
      watch_ends("NotJson", [](FakeExchange& e) { e.chunk("<html>\n"); }),
      watch_ends("HalfOpenConnection", [](FakeExchange& e) { e.stall(); }),
      watch_ends("HalfALineAndSilence",
                 [](FakeExchange& e) {
                   e.chunk("{\"type\":");
                   e.stall();
                 }),
      {"RefusedConnectionsForAWhile", none,
       [](World& world) {
         world.server.leave();
         world.server.drop_connections();
       },
       [](World& world) { world.server.come_back(); }},
      {"HandshakesThatHang", none,
       [](World& world) {
         world.server.mute(true);
         world.server.drop_connections();
       },
       [](World& world) { world.server.mute(false); }},
      then_watches("WatchWithoutAnAnswer", {never_answers}),
      then_watches("WatchAcceptedThatBringsNothing", {says_nothing_more}),
      then_watches("GoneAsAStatus", {Fake::refuse(410, "Expired")}),
      then_watches("NotSyncedYet", {Fake::refuse(403, "Forbidden"), Fake::refuse(401)}),
      then_watches("Unavailable", {Fake::refuse(503), Fake::refuse(429)}),
      then_lists("ListWithoutAnAnswer", {never_answers}),
      then_lists("ListAndEtcdChangesItsLeader", {etcd_changes_its_leader, etcd_changes_its_leader}),
      then_lists("ListUnavailable", {Fake::refuse(503), Fake::refuse(500)}),
      then_lists("ListThrottled", {Fake::refuse(429, "", {{"Retry-After", "0"}})}),
      then_lists("ListCut", {[](FakeExchange& e) { e.cut(); }}),
      then_lists("ListBehind", {Fake::answer(list({}, 2))}),
      then_lists(
          "ListRevisionAhead",
          {Fake::answer(R"({"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}})", 504)}),
      then_lists("ListExpired", {Fake::refuse(410, "Expired")}),
      then_lists("ListNotJson", {Fake::answer("<html>")}),
  };
}

class InformerFaultsTest : public ::testing::TestWithParam<Fault> {};

/// Whatever happens: the copy is right again within seconds, each difference is told once, the
/// deletion that nobody saw among them, what comes later is seen, and the server is not hammered.
TEST_P(InformerFaultsTest, TheCopyIsRightAgain) {
  const auto& fault = GetParam();
  World world;
  fault.before(world);
  TaskRunner run;
  StopSource stop;
  const auto clock = make_steady_clock();
  TransportLimits limits;
  limits.answer = 300ms;
  limits.silence = 500ms;
  const auto transport = make_rest_transport(world.server.config(), *clock, limits);
  Client client(*transport, *clock, {0, 0}, [] { return 0.05; });  // the first wait is 40 ms
  std::vector<std::string> told;
  using Copy = Informer<Value>;
  Copy copy(run.executor(), client, {kPods, "ns"}, {},
            [&told](const Copy::Entry* before, const Copy::Entry* after) {
              told.push_back(after == nullptr ? "-" + before->meta.name : "+" + after->meta.name);
            });
  const auto running = run.start(copy.run(stop));
  const auto met = [&copy] {
    const auto& counts = copy.reflector().counts();
    return counts.list_failures + counts.watch_failures;
  };
  EXPECT_TRUE(run.wait_until([&] { return world.watched() == 1; }));
  EXPECT_THAT(told, ElementsAre("+a"));
  world.change();
  if (fault.befall) fault.befall(world);
  if (fault.heal) {
    EXPECT_TRUE(run.wait_until([&] { return met() >= 2; }));
    fault.heal(world);
  }
  EXPECT_TRUE(run.wait_until([&] { return told.size() >= 4; }))
      << met() << " failures, the last: " << copy.reflector().counts().last_error;
  EXPECT_THAT(told, ElementsAre("+a", "-a", "+b", "+c"));
  EXPECT_LE(world.listed(), 5);
  EXPECT_LE(world.watched(), 8);
  stop.request(StopReason::requested);
  EXPECT_TRUE(run.wait_until([&] { return running->ended; }));
}

INSTANTIATE_TEST_SUITE_P(Of, InformerFaultsTest, ::testing::ValuesIn(faults()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace swage::k8s
