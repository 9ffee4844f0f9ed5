// Random calls on real Redis and on the core machine: answers, mail and records agree.
#include <gmock/gmock.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <random>

#include "common/redis/subscription.hpp"
#include "gpu_pool/lease/adapters/redis_messages.hpp"
#include "gpu_pool/lease/adapters/script_call.hpp"
#include "gpu_pool/lease/core/machine.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/task_runner.hpp"
#include "tests/unit/lease/redis_state.hpp"

namespace swage::lease {
namespace {

using namespace std::chrono_literals;
using swage::test::RedisServer;
using swage::test::TaskRunner;

constexpr auto kPool = "swage-pools.cpu";

template <class T>
bool same(const Reply<T>& a, const Reply<T>& b) {
  if (!a || !b) return !a && !b && a.error() == b.error();
  if constexpr (std::is_void_v<T>) {
    return true;
  } else {
    return *a == *b;
  }
}

/// One random history. Clients c0 and c1 listen to their mailbox, c2 does not.
class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {
    identity_ = inspect().server;
    EXPECT_TRUE(run_.wait_until([&] { return box0_.subscribed() && box1_.subscribed(); }));
  }
  ~History() {
    run_(box0_.shut_down());
    run_(box1_.shut_down());
    run_(redis_.shut_down());
  }

  void step() {
    switch (pick(24)) {
      case 0:
        return install();
      case 1:
        return change_identity();
      case 2:
        return jump();
      case 3:
        return both("sweep", sweep_from, lease_scripts().sweep, {number(epoch_), "4"},
                    [&] { return machine_.sweep(epoch_, 4); });
      case 4:
        return forget();
      case 5:
      case 6:
        return register_gpu();
      case 7:
      case 8:
      case 9:
        return heartbeat();
      case 10:
        return cleared();
      case 11:
      case 12:
      case 13:
      case 14:
      case 15:
        return acquire();
      case 16:
      case 17:
        return renew();
      case 18:
      case 19:
      case 20:
        return release();
      case 21:
        return poll();
      case 22:
        return cancel();
      default:
        return snapshot();
    }
  }

  void compare() {
    ASSERT_TRUE(run_.wait_until([&] { return mail_.size() >= expected_mail_.size(); }, 5s));
    EXPECT_EQ(sorted(mail_), sorted(expected_mail_));
    const auto real = test::read_state(run_, redis_, kPool);
    const auto& wanted = machine_.state();
    EXPECT_EQ(real.meta, wanted.meta);
    EXPECT_EQ(real.gpus, wanted.gpus);
    EXPECT_EQ(real.free, wanted.free);
    EXPECT_EQ(real.requests, wanted.requests);
    EXPECT_EQ(real.wait, wanted.wait);
    EXPECT_EQ(real.runs, wanted.runs);
    EXPECT_EQ(real.eligible, wanted.eligible);
    EXPECT_EQ(real.due, wanted.due);
    EXPECT_EQ(real.done, wanted.done);
    EXPECT_EQ(real.counters, wanted.counters);
    EXPECT_EQ(real.seen, wanted.seen);
    EXPECT_TRUE(real == wanted) << "after " << last_;
  }

  /// leases.md §8: I1, I2, I6, I7.
  void check_invariants() const {
    const auto& q = machine_.state();
    std::size_t leased = 0;
    std::set<std::string> held;
    for (const auto& [id, g] : q.gpus) {
      if (g.request.empty()) continue;
      ++leased;
      EXPECT_TRUE(held.insert(g.request).second) << "two GPUs for " << g.request;
      ASSERT_TRUE(q.requests.contains(g.request)) << g.state;
      EXPECT_EQ(q.requests.at(g.request).gpu, id);
      EXPECT_EQ(q.requests.at(g.request).token, g.token);
    }
    std::size_t waiting = 0, granted = 0;
    std::set<Token> tokens;
    for (const auto& [id, r] : q.requests) {
      const bool has_gpu = r.state == RequestState::granted || r.state == RequestState::held;
      (has_gpu ? granted : waiting) += 1;
      if (has_gpu) EXPECT_TRUE(tokens.insert(r.token).second);
    }
    EXPECT_EQ(granted, leased);
    for (const auto& [gpu, when] : q.free) EXPECT_EQ(q.gpus.at(gpu).state, "idle");
    std::map<std::string, std::int64_t> in_use, queued;
    for (const auto& [id, r] : q.requests) {
      if (r.state == RequestState::waiting) queued[r.run] += 1;
      if (r.state == RequestState::granted || r.state == RequestState::held) in_use[r.run] += 1;
    }
    for (const auto& [id, run] : q.runs) {
      EXPECT_EQ(run.in_use, in_use[id]);
      EXPECT_EQ(run.queued, queued[id]);
      EXPECT_EQ(q.eligible.contains(id), run.queued > 0);
    }
  }
  std::string last() const { return last_; }
  const std::map<std::string, int>& words() const { return words_; }

 private:
  static std::string number(std::uint64_t value) { return std::to_string(value); }
  static std::vector<std::string> sorted(std::vector<std::string> list) {
    std::sort(list.begin(), list.end());
    return list;
  }
  std::uint64_t pick(std::uint64_t below) {
    return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random_);
  }
  std::string a_gpu() { return "gpu" + std::to_string(pick(3)); }
  std::string a_client() { return "c" + std::to_string(pick(3)); }
  std::string a_boot() { return pick(4) == 0 ? "boot-b" : "boot-a"; }
  std::string a_request() {
    return "r" + std::to_string(pick(4) == 0 ? newest_++
                                             : newest_ - pick(std::min<std::uint64_t>(newest_, 8)));
  }
  Token a_token() {
    if (grants_.empty() || pick(8) == 0) return {epoch_, 1 + pick(20)};
    return grants_[pick(grants_.size())].token;
  }

  RedisValue call(const RedisScript& script, Words words) {
    auto value = run_(redis_.script(script, queue_keys(kPool), std::move(words),
                                    std::chrono::steady_clock::now() + 10s));
    if (!value) throw std::runtime_error(value.error().message);
    return std::move(*value);
  }
  ServerState inspect() { return *inspect_from(call(lease_scripts().inspect, {})); }

  /// Calls the script, then the machine at the server's time, and compares the answers.
  template <class Parse, class Act>
  auto answers(std::string name, Parse parse, const RedisScript& script, Words words, Act act) {
    last_ = name;
    for (const auto& word : words) last_ += " " + word;
    const auto value = call(script, std::move(words));
    machine_.at(*raw_time_from(value), identity_);
    auto real = parse(value);
    auto wanted = act();
    EXPECT_TRUE(same(real, wanted))
        << "different answers to " << last_ << ": "
        << nlohmann::json(value.items.size() > 1 ? value.items[1].text : "");
    words_[name + " " + (value.items.size() > 1 ? value.items[1].text : "")] += 1;
    for (auto& mail : machine_.mailed()) {
      remember(mail.grant);
      expected_mail_.push_back(mail.grant.request + ">" + mail.client + "@" + mail.grant.gpu);
    }
    return real;
  }
  template <class Parse, class Act>
  void both(std::string name, Parse parse, const RedisScript& script, Words words, Act act) {
    answers(std::move(name), parse, script, std::move(words), act);
  }

  void install() {
    const std::uint64_t epoch = pick(3) == 0 ? epoch_ : std::max(epoch_, floor_) + 1;
    PoolSettings settings;
    settings.waiting = 8;
    settings.waiting_client = 5;
    settings.wait = 100s;
    settings.closed = pick(10) == 0;
    const auto answer =
        answers("install", install_from, lease_scripts().install,
                install_words(epoch, identity_, settings_from(settings)),
                [&] { return machine_.install(epoch, identity_, settings_from(settings)); });
    if (answer && *answer == InstallAnswer::ok) epoch_ = epoch;
  }
  void change_identity() {
    if (pick(6) != 0) return;
    test::ask(run_, redis_, {"REPLICAOF", "127.0.0.1", "1"});
    test::ask(run_, redis_, {"REPLICAOF", "NO", "ONE"});
    const std::string old = std::exchange(identity_, inspect().server);
    ASSERT_NE(old, identity_);
  }
  void jump() {
    if (!machine_.state().installed) return;
    const Micros by = static_cast<Micros>(pick(8'000'000)) + (pick(6) == 0 ? 25'000'000 : 0);
    test::jump(run_, redis_, kPool, by);
    machine_.jump(by);
  }
  void forget() {
    const bool gpu = pick(2) == 0;
    if (pick(3) != 0) return;
    const std::string id = gpu ? a_gpu() : "run" + std::to_string(pick(3));
    both("forget", ok_from, lease_scripts().forget, {number(epoch_), gpu ? "gpu" : "run", id},
         [&] { return gpu ? machine_.forget_gpu(epoch_, id) : machine_.forget_run(epoch_, id); });
  }
  void register_gpu() {
    Registration r;
    r.gpu = GpuId(a_gpu());
    r.boot = BootId(a_boot());
    r.address = "unix:/" + r.gpu.str();
    r.floor = pick(20) == 0 ? Token{epoch_ + 1, 0} : Token{};
    floor_ = std::max(floor_, r.floor.epoch);
    if (!grants_.empty() && pick(2) == 0) {
      const auto& g = grants_[pick(grants_.size())];
      r.running = RunningLease{RequestId(g.request), g.token, RunUid("run1"), RequestClass::verify,
                               ClientId("c1")};
    }
    both("register", register_from, lease_scripts().register_gpu, register_words(r),
         [&] { return machine_.register_gpu(r); });
  }
  void heartbeat() {
    const auto gpu = a_gpu(), boot = a_boot();
    both("heartbeat", heartbeat_from, lease_scripts().heartbeat, {gpu, boot},
         [&] { return machine_.heartbeat(gpu, boot); });
  }
  void cleared() {
    const auto gpu = a_gpu();
    const auto at = machine_.state().gpus.find(gpu);
    if (at == machine_.state().gpus.end()) return;
    const auto boot = pick(4) == 0 ? a_boot() : at->second.boot;
    const Token token = pick(4) == 0 ? a_token() : at->second.token;
    const bool ok = pick(5) != 0;
    both("cleared", cleared_from, lease_scripts().cleared,
         {gpu, boot, number(token.epoch), number(token.counter), ok ? "1" : "0"},
         [&] { return machine_.cleared(gpu, boot, token, ok); });
    both("requalify", requalify_from, lease_scripts().requalify, {gpu, boot},
         [&] { return machine_.requalify(gpu, boot); });
  }
  void acquire() {
    HoldAsk ask;
    ask.request = RequestId(a_request());
    ask.run = RunUid("run" + std::to_string(pick(3)));
    ask.cls = static_cast<RequestClass>(pick(3));
    ask.weight = pick(2) == 0 ? 1 : 2.7;
    const auto client = a_client();
    const Micros age = pick(6) == 0 ? static_cast<Micros>(pick(40'000'000)) : 0;
    const bool first = pick(5) != 0;
    const auto answer = answers("acquire", acquire_from, lease_scripts().acquire,
                                acquire_words(ask, client, age, first),
                                [&] { return machine_.acquire(ask, client, age, first); });
    if (!answer) return;
    if (const auto* grant = std::get_if<GrantReply>(&*answer)) remember(*grant);
  }
  void remember(const GrantReply& grant) {
    grants_.push_back(grant);
    if (grants_.size() > 6) grants_.pop_front();
  }
  std::string granted_request(Token token) {
    for (const auto& grant : grants_)
      if (grant.token == token && pick(8) != 0) return grant.request;
    return a_request();
  }
  void renew() {
    const Token token = a_token();
    const auto request = granted_request(token);
    both("renew", renew_from, lease_scripts().renew, token_words(request, token),
         [&] { return machine_.renew(request, token); });
  }
  void release() {
    const Token token = a_token();
    const auto request = granted_request(token);
    const auto how = static_cast<ReleaseAs>(pick(3));
    both("release", ok_from, lease_scripts().release, release_words(request, token, how),
         [&] { return machine_.release(request, token, how); });
  }
  void poll() {
    const auto client = a_client();
    std::vector<std::string> ids;
    for (int i = 0; i < 4; ++i) ids.push_back(a_request());
    Words words = {client};
    words.insert(words.end(), ids.begin(), ids.end());
    const auto answer = answers("poll", poll_from, lease_scripts().poll, std::move(words),
                                [&] { return machine_.poll(client, ids); });
    if (!answer) return;
    for (const auto& state : *answer)
      if (const auto* grant = std::get_if<GrantReply>(&state)) remember(*grant);
  }
  void cancel() {
    const auto request = a_request();
    both("cancel", cancel_from, lease_scripts().cancel, {request},
         [&] { return machine_.cancel(request); });
  }
  void snapshot() {
    both("snapshot", snapshot_from, lease_scripts().snapshot, {},
         [&] { return machine_.snapshot(); });
  }
  void heard(const std::string& client, const std::string& message) {
    const auto grant = mailed_from(message);
    ASSERT_TRUE(grant.has_value());
    mail_.push_back(grant->request + ">" + client + "@" + grant->gpu);
  }

  RedisServer server_;
  TaskRunner run_;
  RedisClient redis_{run_.executor(), {server_.address(), "", true}};
  RedisSubscription box0_{run_.executor(),
                          {server_.address(), "", true},
                          mailbox_channel(kPool, "c0"),
                          [this](const std::string& message) { heard("c0", message); },
                          {}};
  RedisSubscription box1_{run_.executor(),
                          {server_.address(), "", true},
                          mailbox_channel(kPool, "c1"),
                          [this](const std::string& message) { heard("c1", message); },
                          {}};
  std::mt19937_64 random_;
  Machine machine_{[](const std::string& client) { return client != "c2"; }};
  std::string identity_, last_;
  std::uint64_t epoch_ = 0, floor_ = 0, newest_ = 1;
  std::deque<GrantReply> grants_;
  std::vector<std::string> mail_, expected_mail_;
  std::map<std::string, int> words_;
};

class LeaseProperty : public ::testing::TestWithParam<int> {};

TEST_P(LeaseProperty, RedisAndTheCoreMachineGiveTheSameAnswersAndRecords) {
  History history(static_cast<std::uint64_t>(GetParam()));
  for (int i = 0; i < 1500; ++i) {
    history.step();
    history.check_invariants();
    if (i % 5 == 0) history.compare();
    ASSERT_FALSE(HasFailure()) << "step " << i << ": " << history.last();
  }
  for (const auto* word :
       {"acquire GRANTED", "acquire WAITING", "acquire DONE", "acquire QUEUE_FULL", "renew OK",
        "renew EXPIRED", "release OK", "release NOT_HOLDER", "heartbeat CLEAR",
        "heartbeat REGISTER", "heartbeat NONE", "heartbeat NO_EPOCH", "cleared OK", "poll OK",
        "cancel OK", "sweep OK", "register OK", "register EPOCH_BEHIND", "install OK"})
    EXPECT_GT(history.words().contains(word), 0) << word << " never happened";
}

INSTANTIATE_TEST_SUITE_P(Seeds, LeaseProperty, ::testing::Range(1, 9));

}  // namespace
}  // namespace swage::lease
