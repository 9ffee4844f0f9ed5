#include "gpu_pool/lease/adapters/redis_messages.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace swage::lease {
namespace {

tl::unexpected<LeaseErrc> fail(LeaseErrc code) { return tl::unexpected(code); }

std::string number(std::uint64_t value) { return std::to_string(value); }

/// Walks an answer's items. A missing or ill-typed item makes it bad for good.
class Items {
 public:
  explicit Items(const std::vector<RedisValue>& items, std::size_t at = 0)
      : items_(items), at_(at) {}
  std::int64_t integer() {
    const auto* value = next();
    if (value == nullptr || !value->is_integer()) return bad_ = true, 0;
    return value->integer;
  }
  std::uint64_t natural() {
    const auto value = integer();
    if (value < 0) return bad_ = true, 0;
    return static_cast<std::uint64_t>(value);
  }
  std::uint32_t small() { return static_cast<std::uint32_t>(natural()); }
  std::string text() {
    const auto* value = next();
    if (value == nullptr || !value->is_text()) return bad_ = true, std::string{};
    return value->text;
  }
  const std::vector<RedisValue>& array() {
    static const std::vector<RedisValue> kNone;
    const auto* value = next();
    if (value == nullptr || !value->is_array()) return bad_ = true, kNone;
    return value->items;
  }
  Token token() {
    const auto epoch = natural();
    return {epoch, natural()};
  }
  bool more() const { return at_ < items_.size(); }
  bool bad() const { return bad_; }

 private:
  const RedisValue* next() {
    if (at_ >= items_.size()) return nullptr;
    return &items_[at_++];
  }
  const std::vector<RedisValue>& items_;
  std::size_t at_;
  bool bad_ = false;
};

/// The word after the time, or why there is none.
Reply<std::string> word_of(const RedisValue& value) {
  if (!value.is_array() || value.items.size() < 2 || !value.items[1].is_text())
    return fail(LeaseErrc::bad_reply);
  static constexpr std::array<std::pair<std::string_view, LeaseErrc>, 7> kErrors = {{
      {"NO_EPOCH", LeaseErrc::no_epoch},
      {"STALE_EPOCH", LeaseErrc::stale_epoch},
      {"REQUEUED", LeaseErrc::requeued},
      {"EXPIRED", LeaseErrc::expired},
      {"HOLD_LIMIT", LeaseErrc::hold_limit},
      {"NOT_HOLDER", LeaseErrc::not_holder},
      {"UNKNOWN", LeaseErrc::unknown},
  }};
  for (const auto& [word, code] : kErrors)
    if (value.items[1].text == word) return fail(code);
  return value.items[1].text;
}

template <class T>
Reply<T> checked(T value, const Items& items) {
  if (items.bad()) return fail(LeaseErrc::bad_reply);
  return value;
}

std::optional<Ended> ended_from(const std::string& state) {
  if (state == "released") return Ended{EndState::released};
  if (state == "expired") return Ended{EndState::expired};
  if (state == "cancelled") return Ended{EndState::cancelled};
  if (state == "timeout") return Ended{EndState::timeout};
  if (state == "dead") return Ended{EndState::dead};
  return std::nullopt;
}

/// WAITING, GRANTED and DONE, which acquire and poll share.
template <class Out>
Reply<Out> state_from(const std::string& word, Items items) {
  if (word == "WAITING") {
    const auto ahead = items.small();
    return checked<Out>(Waiting{ahead, items.small()}, items);
  }
  if (word == "GRANTED") {
    GrantReply grant;
    grant.request = items.text();
    grant.gpu = items.text();
    grant.address = items.text();
    grant.token = items.token();
    grant.repeat = items.integer() != 0;
    grant.usable_ms = items.integer();
    return checked<Out>(std::move(grant), items);
  }
  if (word == "DONE") {
    const auto ended = ended_from(items.text());
    if (ended) return checked<Out>(*ended, items);
  }
  return fail(LeaseErrc::bad_reply);
}

}  // namespace

Words queue_keys(const std::string& pool) {
  static constexpr std::array kNames = {"meta", "gpu",   "free",  "req",  "wait", "run", "elig",
                                        "due",  "done0", "done1", "dead", "stat", "seen"};
  Words keys;
  for (const auto* name : kNames) keys.push_back("swage:{" + pool + "}:" + name);
  return keys;
}

std::string mailbox_channel(const std::string& pool, const std::string& client) {
  return "swage:{" + pool + "}:box:" + client;
}

Words install_words(std::uint64_t epoch, const std::string& server, const Settings& settings) {
  Words words = {number(epoch), server};
  for (const auto value : settings_list(settings)) words.push_back(std::to_string(value));
  return words;
}

Words register_words(const Registration& r) {
  Words words = {r.gpu.str(), r.boot.str(), r.address, number(r.floor.epoch),
                 number(r.floor.counter)};
  if (r.running) {
    const auto& running = *r.running;
    words.insert(
        words.end(),
        {running.request.str(), number(running.token.epoch), number(running.token.counter),
         running.run.str(), number(static_cast<std::uint64_t>(running.cls)), running.client.str()});
  }
  return words;
}

Words acquire_words(const HoldAsk& ask, const std::string& client, Micros age, bool first) {
  std::array<char, 40> weight{};
  std::snprintf(weight.data(), weight.size(), "%.17g", ask.weight);
  return {ask.request.str(),
          ask.run.str(),
          weight.data(),
          number(ask.cap),
          number(static_cast<std::uint64_t>(ask.cls)),
          client,
          std::to_string(age),
          first ? "1" : "0"};
}

Words token_words(const std::string& request, Token token) {
  return {request, number(token.epoch), number(token.counter)};
}

Words release_words(const std::string& request, Token token, ReleaseAs how) {
  Words words = token_words(request, token);
  words.emplace_back(how == ReleaseAs::clear    ? "clear"
                     : how == ReleaseAs::unsure ? "unsure"
                                                : "retry");
  return words;
}

std::optional<Micros> raw_time_from(const RedisValue& value) {
  if (!value.is_array() || value.items.empty() || !value.items[0].is_integer()) return std::nullopt;
  return value.items[0].integer;
}

Reply<ServerState> inspect_from(const RedisValue& value) {
  Items items(value.items, 1);
  ServerState state;
  state.server = items.text();
  state.installed_server = items.text();
  state.epoch = items.natural();
  state.floor_epoch = items.natural();
  return checked(std::move(state), items);
}

Reply<InstallAnswer> install_from(const RedisValue& value) {
  const auto word = word_of(value);
  if (!word && word.error() == LeaseErrc::stale_epoch) return InstallAnswer::stale_epoch;
  if (!word) return fail(word.error());
  if (*word == "OK") return InstallAnswer::ok;
  if (*word == "WRONG_SERVER") return InstallAnswer::wrong_server;
  return fail(LeaseErrc::bad_reply);
}

Reply<SweepCounts> sweep_from(const RedisValue& value) {
  const auto word = word_of(value);
  if (!word) return fail(word.error());
  Items items(value.items, 2);
  SweepCounts counts;
  counts.floor_epoch = items.natural();
  counts.suspect = items.small();
  counts.unclaimed = items.small();
  counts.absent = items.small();
  counts.silent = items.small();
  counts.timed_out = items.small();
  counts.quarantined = items.small();
  return checked(counts, items);
}

Reply<PoolSnapshot> snapshot_from(const RedisValue& value) {
  const auto word = word_of(value);
  if (!word) return fail(word.error());
  Items items(value.items, 2);
  PoolSnapshot shot;
  shot.epoch = items.natural();
  shot.counter = items.natural();
  shot.waiting = items.small();
  shot.leased = items.small();
  shot.oldest_wait = std::chrono::milliseconds(items.integer() / 1000);
  bool bad = false;
  for (const auto& entry : items.array()) {
    Items fields(entry.items);
    GpuState gpu;
    gpu.gpu = GpuId(fields.text());
    gpu.state = fields.text();
    gpu.address = fields.text();
    gpu.request = RequestId(fields.text());
    bad = bad || fields.bad();
    shot.gpus.push_back(std::move(gpu));
  }
  std::sort(shot.gpus.begin(), shot.gpus.end(),
            [](const GpuState& a, const GpuState& b) { return a.gpu < b.gpu; });
  Items counters(items.array());
  while (counters.more()) {
    const std::string name = counters.text();
    const std::string count = counters.text();
    if (!name.starts_with("w|")) shot.counters[name] = std::strtoull(count.c_str(), nullptr, 10);
  }
  if (bad || counters.bad()) return fail(LeaseErrc::bad_reply);
  return checked(std::move(shot), items);
}

Reply<RegisterAnswer> register_from(const RedisValue& value) {
  const auto word = word_of(value);
  if (!word) return fail(word.error());
  if (*word == "EPOCH_BEHIND") return EpochBehind{};
  if (*word == "QUARANTINED") return Quarantined{};
  if (*word != "OK") return fail(LeaseErrc::bad_reply);
  Items items(value.items, 2);
  Registered registered;
  registered.newest = items.token();
  registered.restored = items.integer() != 0;
  std::array<std::int64_t, 12> list{};
  for (auto& entry : list) entry = items.integer();
  registered.settings = settings_to(settings_from_list(list));
  return checked<RegisterAnswer>(registered, items);
}

Reply<HeartbeatAnswer> heartbeat_from(const RedisValue& value) {
  const auto word = word_of(value);
  if (!word) return fail(word.error());
  if (*word == "NONE") return NothingToDo{};
  if (*word == "REGISTER") return MustRegister{};
  if (*word == "BOOT_REPLACED") return BootReplaced{};
  if (*word == "QUARANTINED") return Quarantined{};
  if (*word != "CLEAR") return fail(LeaseErrc::bad_reply);
  Items items(value.items, 2);
  return checked<HeartbeatAnswer>(Clear{items.token()}, items);
}

Reply<ClearedAnswer> cleared_from(const RedisValue& value) {
  const auto word = word_of(value);
  if (!word) return fail(word.error());
  return *word == "OK" ? ClearedAnswer::ok : ClearedAnswer::not_suspect;
}

Reply<bool> requalify_from(const RedisValue& value) {
  const auto word = word_of(value);
  if (!word && word.error() == LeaseErrc::unknown) return false;
  if (!word) return fail(word.error());
  return *word == "OK";
}

Reply<AcquireReply> acquire_from(const RedisValue& value) {
  const auto word = word_of(value);
  if (!word) return fail(word.error());
  Items items(value.items, 2);
  if (*word == "CLOSED") return Closed{};
  if (*word == "QUEUE_FULL") return checked<AcquireReply>(FullReply{items.integer()}, items);
  return state_from<AcquireReply>(*word, items);
}

Reply<RenewReply> renew_from(const RedisValue& value) {
  const auto word = word_of(value);
  if (!word) return fail(word.error());
  Items items(value.items, 2);
  RenewReply reply;
  reply.usable_ms = items.integer();
  reply.interval_ms = items.integer();
  return checked(reply, items);
}

Reply<void> ok_from(const RedisValue& value) {
  const auto word = word_of(value);
  if (!word) return fail(word.error());
  if (*word != "OK") return fail(LeaseErrc::bad_reply);
  return {};
}

Reply<std::vector<PollReply>> poll_from(const RedisValue& value) {
  const auto word = word_of(value);
  if (!word) return fail(word.error());
  Items items(value.items, 2);
  std::vector<PollReply> replies;
  for (const auto& entry : items.array()) {
    Items fields(entry.items);
    const std::string state = fields.text();
    if (state == "UNKNOWN") {
      replies.emplace_back(Unknown{});
      continue;
    }
    auto reply = state_from<PollReply>(state, fields);
    if (!reply) return fail(reply.error());
    replies.push_back(std::move(*reply));
  }
  return checked(std::move(replies), items);
}

Reply<CancelAnswer> cancel_from(const RedisValue& value) {
  const auto word = word_of(value);
  if (!word) return fail(word.error());
  return *word == "HELD" ? CancelAnswer::held : CancelAnswer::ok;
}

std::optional<GrantReply> mailed_from(std::string_view message) {
  const auto json = nlohmann::json::from_msgpack(message, true, false);
  if (!json.is_array() || json.size() != 5) return std::nullopt;
  if (!json[0].is_string() || !json[1].is_string() || !json[2].is_string() ||
      !json[3].is_number() || !json[4].is_number())
    return std::nullopt;
  GrantReply grant;
  grant.request = json[0].get<std::string>();
  grant.gpu = json[1].get<std::string>();
  grant.address = json[2].get<std::string>();
  grant.token = {json[3].get<std::uint64_t>(), json[4].get<std::uint64_t>()};
  grant.repeat = true;
  return grant;
}

}  // namespace swage::lease
