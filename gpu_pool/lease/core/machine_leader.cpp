// The calls of the pool's leader.
#include <algorithm>

#include "gpu_pool/lease/core/machine.hpp"

namespace swage::lease {
namespace {

tl::unexpected<LeaseErrc> fail(LeaseErrc code) { return tl::unexpected(code); }

std::vector<std::string> keys_of(const auto& map) {
  std::vector<std::string> keys;
  keys.reserve(map.size());
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

/// The members with a score up to `now`, in the order of a sorted set, at most `limit`.
std::vector<std::string> due_by(const std::map<std::string, Micros>& set, Micros now,
                                std::size_t limit) {
  std::vector<std::pair<Micros, std::string>> found;
  for (const auto& [name, when] : set)
    if (when <= now) found.emplace_back(when, name);
  std::sort(found.begin(), found.end());
  if (found.size() > limit) found.resize(limit);
  std::vector<std::string> names;
  names.reserve(found.size());
  for (auto& [when, name] : found) names.push_back(std::move(name));
  return names;
}

}  // namespace

Reply<ServerState> Machine::inspect() const {
  if (!q_.installed) return ServerState{server_, "", 0, 0};
  return ServerState{server_, q_.meta.server, q_.meta.epoch, q_.meta.floor};
}

Reply<InstallAnswer> Machine::install(std::uint64_t epoch, const std::string& server,
                                      const Settings& settings) {
  const bool had = begin();
  if (server_ != server) return InstallAnswer::wrong_server;
  auto& meta = q_.meta;
  const bool changed = !had || meta.server != server;
  if (had) {
    const bool newer = epoch > meta.epoch && epoch > meta.floor;
    const bool again = !changed && epoch == meta.epoch && epoch > meta.floor;
    if (!newer && !again) return InstallAnswer::stale_epoch;
  } else {
    q_.installed = true;
    meta = Meta{};
    meta.clock = meta.swapped = now_ = raw_now_;
  }
  meta.epoch = epoch;
  meta.server = server;
  meta.settings = settings;
  if (!changed) return InstallAnswer::ok;
  q_.free.clear();
  for (auto& [gpu, g] : q_.gpus) {
    if (g.state == "quarantined") continue;
    g.state = "unconfirmed";
    g.since = now_;
    seen_gpu(gpu);
  }
  return InstallAnswer::ok;
}

void Machine::take_back(std::uint32_t limit, SweepCounts& counts) {
  for (const auto& id : due_by(q_.due, now_, limit)) {
    const auto& r = q_.requests[id];
    const std::string gpu = r.gpu;
    if (r.state == RequestState::held) {
      q_.due.erase(id);
      unsure(gpu);
      counts.suspect += 1;
    } else {
      requeue(id);
      vacate(gpu);
      counts.unclaimed += 1;
    }
  }
}

void Machine::drop(const std::string& id, const std::string& state) {
  const RequestRecord r = q_.requests[id];
  if (r.state == RequestState::waiting) dequeue(id);
  if (r.state == RequestState::granted) settle(id, false);
  finish(id, state);
  if (r.state == RequestState::granted) vacate(r.gpu);
}

void Machine::worker_absent(const std::string& gpu, SweepCounts& counts) {
  const auto at = q_.gpus.find(gpu);
  if (at == q_.gpus.end() || at->second.state == "quarantined") return;
  auto& g = at->second;
  if (live_lease(g) != nullptr) {
    if (g.state == "suspect") {
      expire(g.request);
    } else {
      requeue(g.request);
    }
  }
  g.state = "absent";
  g.request.clear();
  g.since = now_;
  q_.free.erase(gpu);
  counts.absent += 1;
}

void Machine::client_silent(const std::string& client, SweepCounts& counts) {
  for (const auto& id : keys_of(q_.requests)) {
    const auto* r = find(id);
    if (r == nullptr || r->client != client || r->state == RequestState::held) continue;
    drop(id, "cancelled");
    counts.silent += 1;
  }
}

void Machine::time_out(std::uint32_t limit, SweepCounts& counts) {
  for (const auto& run : keys_of(q_.eligible)) {
    while (counts.timed_out < limit) {
      const auto id = first_of(run);
      if (!id || now_ - q_.requests[*id].enqueued <= q_.meta.settings.wait) break;
      drop(*id, "timeout");
      counts.timed_out += 1;
    }
  }
}

void Machine::quarantine_slow(SweepCounts& counts) {
  for (auto& [gpu, g] : q_.gpus) {
    if (g.state != "suspect" || now_ - g.since <= q_.meta.settings.clearing) continue;
    if (live_lease(g) != nullptr) expire(g.request);
    g.state = "quarantined";
    g.request.clear();
    g.since = now_;
    g.fails += 1;
    count("quarantined");
    counts.quarantined += 1;
  }
}

Reply<SweepCounts> Machine::sweep(std::uint64_t epoch, std::uint32_t limit) {
  if (!begin() || !confirmed() || epoch > q_.meta.epoch) return fail(LeaseErrc::no_epoch);
  if (epoch < q_.meta.epoch) return fail(LeaseErrc::stale_epoch);
  SweepCounts counts;
  take_back(limit, counts);
  for (const auto& who : due_by(q_.seen, now_, limit)) {
    q_.seen.erase(who);
    if (who.starts_with("g|")) {
      worker_absent(who.substr(2), counts);
    } else {
      client_silent(who.substr(2), counts);
    }
  }
  time_out(limit, counts);
  quarantine_slow(counts);
  counts.floor_epoch = q_.meta.floor;
  return counts;
}

Reply<void> Machine::forget_gpu(std::uint64_t epoch, const std::string& gpu) {
  if (!begin() || epoch > q_.meta.epoch) return fail(LeaseErrc::no_epoch);
  if (epoch < q_.meta.epoch) return fail(LeaseErrc::stale_epoch);
  const auto at = q_.gpus.find(gpu);
  if (at == q_.gpus.end()) return {};
  if (live_lease(at->second) != nullptr) {
    if (at->second.state == "suspect") {
      expire(at->second.request);
    } else {
      requeue(at->second.request);
    }
  }
  q_.gpus.erase(at);
  q_.free.erase(gpu);
  q_.seen.erase("g|" + gpu);
  return {};
}

Reply<void> Machine::forget_run(std::uint64_t epoch, const std::string& run) {
  if (!begin() || epoch > q_.meta.epoch) return fail(LeaseErrc::no_epoch);
  if (epoch < q_.meta.epoch) return fail(LeaseErrc::stale_epoch);
  for (const auto& id : keys_of(q_.requests)) {
    const auto& r = q_.requests[id];
    if (r.run != run) continue;
    if (r.state == RequestState::waiting || r.state == RequestState::parked) drop(id, "cancelled");
  }
  const auto at = q_.runs.find(run);
  if (at != q_.runs.end() && at->second.in_use == 0) {
    q_.runs.erase(at);
    q_.eligible.erase(run);
  }
  return {};
}

Reply<PoolSnapshot> Machine::snapshot() const {
  if (!q_.installed) return fail(LeaseErrc::no_epoch);
  const Micros now = std::max(raw_now_ + q_.meta.skew, q_.meta.clock + 1);
  PoolSnapshot shot;
  shot.epoch = q_.meta.epoch;
  shot.counter = q_.meta.counter;
  std::size_t leased = 0;
  for (const auto& [gpu, g] : q_.gpus) {
    if (!g.request.empty()) ++leased;
    shot.gpus.push_back({GpuId(gpu), g.state, g.address, RequestId(g.request)});
  }
  shot.leased = static_cast<std::uint32_t>(leased);
  shot.waiting = static_cast<std::uint32_t>(q_.requests.size() - leased);
  Micros oldest = now;
  for (const auto& [run, vt] : q_.eligible)
    if (const auto id = first_of(run)) oldest = std::min(oldest, q_.requests.at(*id).enqueued);
  shot.oldest_wait = std::chrono::milliseconds((now - oldest) / 1000);
  for (const auto& [name, value] : q_.counters)
    if (!name.starts_with("w|")) shot.counters[name] = static_cast<std::uint64_t>(value);
  return shot;
}

}  // namespace swage::lease
