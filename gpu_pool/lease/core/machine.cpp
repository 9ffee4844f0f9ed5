#include "gpu_pool/lease/core/machine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "common/base/check.hpp"
#include "common/base/present.hpp"

namespace swage::lease {
namespace {

constexpr std::array<Micros, 3> kAgeing = {0, 20'000'000, 60'000'000};  // score, verify, profile
constexpr Micros kSwapAfter = 300'000'000;
constexpr std::size_t kSwapEntries = 100'000;
constexpr int kTries = 8;

Micros share(Micros amount, double weight) {
  return static_cast<Micros>(std::floor(static_cast<double>(amount) / weight));
}

}  // namespace

bool Machine::begin() {
  if (!q_.installed) return false;
  auto& meta = q_.meta;
  now_ = raw_now_ + meta.skew;
  if (now_ <= meta.clock) {
    meta.skew += meta.clock + 1 - now_;
    now_ = meta.clock + 1;
  }
  meta.clock = now_;
  return true;
}

void Machine::seen_client(const std::string& client) {
  q_.seen["c|" + client] = now_ + q_.meta.settings.silent;
}
void Machine::seen_gpu(const std::string& gpu) {
  q_.seen["g|" + gpu] = now_ + q_.meta.settings.absent;
}

std::string Machine::member(const std::string& id, const RequestRecord& r) {
  std::array<char, 24> rank{};
  std::snprintf(rank.data(), rank.size(), "%016lld",
                static_cast<long long>(r.enqueued) + kAgeing[static_cast<std::size_t>(r.cls)]);
  return r.run + "|" + rank.data() + "|" + id;
}

RequestRecord* Machine::find(const std::string& request) {
  const auto at = q_.requests.find(request);
  return at == q_.requests.end() ? nullptr : &at->second;
}

RequestRecord* Machine::live_lease(const GpuRecord& g) {
  return g.request.empty() ? nullptr : find(g.request);
}

Micros Machine::bounded(const RunRecord& run, Micros vt) const {
  const Micros limit = q_.meta.vclock + share(120'000'000, run.weight);
  return std::max(q_.meta.vclock, std::min(vt, limit));
}

void Machine::put_run(const std::string& id, const RunRecord& run) {
  q_.runs[id] = run;
  if (run.queued > 0) {
    q_.eligible[id] = run.vt;
  } else {
    q_.eligible.erase(id);
  }
}

void Machine::enqueue(const std::string& id) {
  auto& r = q_.requests[id];
  r.state = RequestState::waiting;
  q_.wait.insert(member(id, r));
  count("w|" + r.client);
  RunRecord run = q_.runs[r.run];
  run.queued += 1;
  if (run.queued == 1) run.vt = std::max(run.vt, q_.meta.vclock);
  put_run(r.run, run);
}

void Machine::dequeue(const std::string& id) {
  const auto& r = q_.requests[id];
  q_.wait.erase(member(id, r));
  count("w|" + r.client, -1);
  if (q_.counters["w|" + r.client] <= 0) q_.counters.erase("w|" + r.client);
  RunRecord run = q_.runs[r.run];
  run.queued -= 1;
  put_run(r.run, run);
}

void Machine::park(const std::string& id) {
  dequeue(id);
  q_.requests[id].state = RequestState::parked;
  count("parked");
}

void Machine::finish(const std::string& id, const std::string& state) {
  auto& meta = q_.meta;
  const auto current = [&] { return static_cast<std::size_t>(meta.generation % 2); };
  if (now_ - meta.swapped > kSwapAfter || q_.done[current()].size() >= kSwapEntries) {
    meta.generation += 1;
    meta.swapped = now_;
    q_.done[current()].clear();
  }
  q_.requests.erase(id);
  q_.done[current()][id] = state;
  count(state);
}

std::optional<std::string> Machine::ended(const std::string& id) const {
  for (const auto& done : q_.done)
    if (const auto at = done.find(id); at != done.end()) return at->second;
  return std::nullopt;
}

void Machine::grant(const std::string& id, const std::string& gpu, RequestState state) {
  auto& meta = q_.meta;
  auto& r = q_.requests[id];
  meta.counter += 1;
  RunRecord run = q_.runs[r.run];
  run.vt = std::max(run.vt, meta.vclock);
  meta.vclock = run.vt;
  r.estimate = meta.means[static_cast<std::size_t>(r.cls)];
  run.vt = bounded(run, run.vt + share(r.estimate, run.weight));
  run.in_use += 1;
  put_run(r.run, run);
  r.state = state;
  r.gpu = gpu;
  r.token = {meta.epoch, meta.counter};
  r.granted = now_;
  q_.due[id] = now_ + (state == RequestState::held ? meta.settings.ttl : meta.settings.claim);
  auto& g = q_.gpus[gpu];
  g.state = "leased";
  g.request = id;
  g.token = r.token;
  g.since = now_;
  q_.free.erase(gpu);
  count("granted");
}

void Machine::settle(const std::string& id, bool measured) {
  const auto& r = q_.requests[id];
  const Micros held = r.state == RequestState::held ? now_ - r.granted : 0;
  q_.due.erase(id);
  RunRecord run = q_.runs[r.run];
  run.in_use -= 1;
  run.vt = bounded(run, run.vt + share(held - r.estimate, run.weight));
  put_run(r.run, run);
  if (!measured) return;
  Micros& mean = q_.meta.means[static_cast<std::size_t>(r.cls)];
  mean = static_cast<Micros>(
      std::floor(static_cast<double>(mean) + static_cast<double>(held - mean) / 32));
  mean = std::max<Micros>(250'000, std::min<Micros>(mean, 60'000'000));
}

void Machine::requeue(const std::string& id) {
  settle(id, false);
  auto& r = q_.requests[id];
  r.attempts += 1;
  r.gpu.clear();
  if (r.attempts >= q_.meta.settings.attempts) return finish(id, "dead");
  count("requeued");
  enqueue(id);
}

void Machine::expire(const std::string& id) {
  settle(id, false);
  finish(id, "expired");
}

void Machine::suspect(const std::string& gpu) {
  auto& g = q_.gpus[gpu];
  g.state = "suspect";
  g.since = now_;
  q_.free.erase(gpu);
}

void Machine::unsure(const std::string& gpu) {
  if (q_.gpus[gpu].state == "leased") suspect(gpu);
}

std::optional<std::string> Machine::next_run() const {
  if (q_.eligible.empty()) return std::nullopt;
  const auto less = [](const auto& a, const auto& b) {
    return std::pair(a.second, a.first) < std::pair(b.second, b.first);
  };
  return std::min_element(q_.eligible.begin(), q_.eligible.end(), less)->first;
}

std::optional<std::string> Machine::latest_free() const {
  if (q_.free.empty()) return std::nullopt;
  const auto less = [](const auto& a, const auto& b) {
    return std::pair(a.second, a.first) < std::pair(b.second, b.first);
  };
  return std::max_element(q_.free.begin(), q_.free.end(), less)->first;
}

std::optional<std::string> Machine::first_of(const std::string& run) const {
  const auto at = q_.wait.lower_bound(run + "|");
  if (at == q_.wait.end() || !at->starts_with(run + "|")) return std::nullopt;
  return at->substr(run.size() + 18);
}

bool Machine::hand_on(const std::string& gpu, const std::set<std::string>& here,
                      RequestState state) {
  for (int i = 0; i < (confirmed() ? kTries : 0); ++i) {
    const auto run = next_run();
    if (!run) break;
    const auto id = present(first_of(*run), "an eligible run has a waiting request");
    const auto& r = q_.requests[id];
    const bool told = here.contains(id);
    if (told || listens_(r.client)) {
      if (!told) {
        const Token token{q_.meta.epoch, q_.meta.counter + 1};
        mailed_.push_back({r.client, {id, gpu, q_.gpus[gpu].address, token, true, 0}});
      }
      dequeue(id);
      grant(id, gpu, told ? state : RequestState::granted);
      return true;
    }
    park(id);
  }
  auto& g = q_.gpus[gpu];
  if (g.state != "idle") g.since = now_;
  g.state = "idle";
  g.request.clear();
  q_.free.try_emplace(gpu, now_);
  return false;
}

void Machine::use_free(const std::set<std::string>& here, RequestState state) {
  for (int i = 0; i < kTries; ++i) {
    const auto gpu = latest_free();
    if (!gpu || q_.eligible.empty()) return;
    if (!hand_on(*gpu, here, state)) return;
  }
}

void Machine::vacate(const std::string& gpu) {
  auto& g = q_.gpus[gpu];
  g.request.clear();
  if (g.state == "leased") hand_on(gpu);
}

AcquireReply Machine::state_of(const std::string& id, bool first) const {
  const auto& r = q_.requests.at(id);
  if (r.state == RequestState::waiting || r.state == RequestState::parked) {
    const auto begin = q_.wait.lower_bound(r.run + "|");
    const auto end = q_.wait.lower_bound(member(id, r));
    return Waiting{static_cast<std::uint32_t>(std::distance(begin, end)),
                   static_cast<std::uint32_t>(q_.gpus.size())};
  }
  const auto& s = q_.meta.settings;
  return GrantReply{id,      r.gpu,  q_.gpus.at(r.gpu).address,
                    r.token, !first, first ? (s.ttl - s.margin) / 1000 : 0};
}

}  // namespace swage::lease
