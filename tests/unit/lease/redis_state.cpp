#include "tests/unit/lease/redis_state.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "gpu_pool/lease/adapters/redis_messages.hpp"

namespace swage::lease::test {
namespace {

using nlohmann::json;
using swage::test::TaskRunner;

json record(const std::string& packed) { return json::from_msgpack(packed); }

Meta meta_from(const json& m) {
  Meta meta;
  meta.epoch = m[1].get<std::uint64_t>();
  meta.server = m[2].get<std::string>();
  meta.clock = m[3].get<Micros>();
  meta.skew = m[4].get<Micros>();
  meta.counter = m[5].get<std::uint64_t>();
  meta.vclock = m[6].get<Micros>();
  meta.generation = m[7].get<std::int64_t>();
  meta.swapped = m[8].get<Micros>();
  meta.floor = m[9].get<std::uint64_t>();
  for (std::size_t i = 0; i < 3; ++i) meta.means.at(i) = m[10][i].get<Micros>();
  std::array<std::int64_t, 12> list{};
  for (std::size_t i = 0; i < 12; ++i) list.at(i) = m[11][i].get<std::int64_t>();
  meta.settings = settings_from_list(list);
  return meta;
}

GpuRecord gpu_from(const json& g) {
  GpuRecord gpu;
  gpu.state = g[0].get<std::string>();
  gpu.boot = g[1].get<std::string>();
  gpu.address = g[2].get<std::string>();
  gpu.request = g[3].get<std::string>();
  gpu.token = {g[4].get<std::uint64_t>(), g[5].get<std::uint64_t>()};
  gpu.fails = g[6].get<std::int64_t>();
  gpu.since = g[7].get<Micros>();
  return gpu;
}

RequestRecord request_from(const json& r) {
  RequestRecord request;
  const auto state = r[0].get<std::string>();
  request.state = state == "waiting"   ? RequestState::waiting
                  : state == "parked"  ? RequestState::parked
                  : state == "granted" ? RequestState::granted
                                       : RequestState::held;
  request.run = r[1].get<std::string>();
  request.cls = static_cast<RequestClass>(r[2].get<int>());
  request.client = r[3].get<std::string>();
  request.gpu = r[4].get<std::string>();
  request.token = {r[5].get<std::uint64_t>(), r[6].get<std::uint64_t>()};
  request.enqueued = r[7].get<Micros>();
  request.granted = r[8].get<Micros>();
  request.attempts = r[9].get<std::int64_t>();
  request.estimate = r[10].get<Micros>();
  request.returned = r[11].get<std::uint64_t>();
  return request;
}

RunRecord run_from(const json& r) {
  return {r[0].get<double>(), r[1].get<std::int64_t>(), r[2].get<std::int64_t>(),
          r[3].get<std::int64_t>(), r[4].get<Micros>()};
}

}  // namespace

RedisValue ask(TaskRunner& run, RedisClient& redis, std::vector<std::string> words) {
  auto reply = run(
      redis.command(std::move(words), std::chrono::steady_clock::now() + std::chrono::seconds(10)));
  if (!reply) throw std::runtime_error(reply.error().message);
  return std::move(*reply);
}

QueueState read_state(TaskRunner& run, RedisClient& redis, const std::string& pool) {
  const Words keys = queue_keys(pool);
  QueueState state;
  const auto hash = [&](std::size_t key, auto put) {
    const auto all = ask(run, redis, {"HGETALL", keys[key]});
    for (std::size_t i = 0; i + 1 < all.items.size(); i += 2)
      put(all.items[i].text, all.items[i + 1].text);
  };
  const auto zset = [&](std::size_t key, auto put) {
    const auto all = ask(run, redis, {"ZRANGE", keys[key], "0", "-1", "WITHSCORES"});
    for (std::size_t i = 0; i + 1 < all.items.size(); i += 2)
      put(all.items[i].text, static_cast<Micros>(std::stod(all.items[i + 1].text)));
  };
  const auto meta = ask(run, redis, {"GET", keys[0]});
  state.installed = meta.is_text();
  if (state.installed) state.meta = meta_from(record(meta.text));
  hash(1, [&](auto& id, auto& packed) { state.gpus[id] = gpu_from(record(packed)); });
  zset(2, [&](auto& id, Micros when) { state.free[id] = when; });
  hash(3, [&](auto& id, auto& packed) { state.requests[id] = request_from(record(packed)); });
  zset(4, [&](auto& member, Micros) { state.wait.insert(member); });
  hash(5, [&](auto& id, auto& packed) { state.runs[id] = run_from(record(packed)); });
  zset(6, [&](auto& id, Micros vt) { state.eligible[id] = vt; });
  zset(7, [&](auto& id, Micros when) { state.due[id] = when; });
  hash(8, [&](auto& id, auto& how) { state.done[0][id] = how; });
  hash(9, [&](auto& id, auto& how) { state.done[1][id] = how; });
  hash(11, [&](auto& name, auto& value) { state.counters[name] = std::stoll(value); });
  zset(12, [&](auto& who, Micros when) { state.seen[who] = when; });
  return state;
}

void jump(TaskRunner& run, RedisClient& redis, const std::string& pool, Micros by) {
  const std::string key = queue_keys(pool)[0];
  json meta = record(ask(run, redis, {"GET", key}).text);
  meta[4] = meta[4].get<Micros>() + by;
  const auto bytes = json::to_msgpack(meta);
  ask(run, redis, {"SET", key, std::string(bytes.begin(), bytes.end())});
}

}  // namespace swage::lease::test
