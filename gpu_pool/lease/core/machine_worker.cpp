// The calls of a GPU's worker.
#include <algorithm>

#include "gpu_pool/lease/core/machine.hpp"

namespace swage::lease {
namespace {

tl::unexpected<LeaseErrc> fail(LeaseErrc code) { return tl::unexpected(code); }

}  // namespace

Reply<RegisterAnswer> Machine::register_gpu(const Registration& registration) {
  if (!begin() || !confirmed()) return fail(LeaseErrc::no_epoch);
  auto& meta = q_.meta;
  if (registration.floor > Token{meta.epoch, meta.counter}) {
    meta.floor = std::max(meta.floor, registration.floor.epoch);
    return EpochBehind{};
  }
  const std::string& gpu = registration.gpu.str();
  const auto [at, added] = q_.gpus.try_emplace(gpu);
  auto& g = at->second;
  if (added) g.since = now_;
  const bool new_boot = g.boot != registration.boot.str();
  g.boot = registration.boot.str();
  g.address = registration.address;
  seen_gpu(gpu);
  if (g.state == "quarantined") return Quarantined{};
  const Token newest{meta.epoch, meta.counter};  // what is handed on below has a newer token
  bool restored = false;
  register_lease(registration, new_boot, restored);
  return Registered{newest, restored, settings_to(meta.settings)};
}

void Machine::register_lease(const Registration& registration, bool new_boot, bool& restored) {
  const std::string& gpu = registration.gpu.str();
  auto& g = q_.gpus[gpu];
  const auto& running = registration.running;
  const auto take_back = [&] {  // something runs that nobody may use any more
    g.request.clear();
    g.token = running->token;
    suspect(gpu);
  };
  if (auto* r = live_lease(g)) {
    const bool runs_it =
        running && running->request.str() == g.request && running->token == g.token;
    if (g.state == "suspect" && !new_boot) return;  // overdue; CLEAR follows
    if (runs_it && g.state != "suspect") {
      r->state = RequestState::held;
      q_.due[g.request] = now_ + q_.meta.settings.ttl;
      g.state = "leased";
      restored = true;
      return;
    }
    if (g.state == "suspect") {
      expire(g.request);
    } else {
      requeue(g.request);
    }
    g.request.clear();
    if (running) {
      take_back();
    } else {
      hand_on(gpu);
    }
  } else if (running && find(running->request.str()) == nullptr && !ended(running->request.str())) {
    restore(registration, *running);
    restored = true;
  } else if (running) {
    take_back();
  } else if (g.state != "suspect" || new_boot) {
    hand_on(gpu);
  }
}

void Machine::restore(const Registration& registration, const RunningLease& running) {
  const std::string& gpu = registration.gpu.str();
  const auto known = q_.runs.find(running.run.str());
  RunRecord run = known == q_.runs.end() ? RunRecord{} : known->second;
  run.in_use += 1;
  put_run(running.run.str(), run);
  RequestRecord r;
  r.state = RequestState::held;
  r.run = running.run.str();
  r.cls = running.cls;
  r.client = running.client.str();
  r.gpu = gpu;
  r.token = running.token;
  r.enqueued = r.granted = now_;
  const std::string& id = running.request.str();
  q_.requests[id] = r;
  q_.due[id] = now_ + q_.meta.settings.ttl;
  auto& g = q_.gpus[gpu];
  g.state = "leased";
  g.request = id;
  g.token = running.token;
  g.since = now_;
  q_.free.erase(gpu);
}

Reply<HeartbeatAnswer> Machine::heartbeat(const std::string& gpu, const std::string& boot) {
  if (!begin() || !confirmed()) return fail(LeaseErrc::no_epoch);
  const auto at = q_.gpus.find(gpu);
  if (at == q_.gpus.end()) return MustRegister{};
  auto& g = at->second;
  if (g.state == "unconfirmed" || g.state == "absent") return MustRegister{};
  if (g.boot != boot) return BootReplaced{};
  seen_gpu(gpu);
  SweepCounts counts;
  take_back(8, counts);
  if (g.state == "suspect") return Clear{g.token};
  if (g.state == "quarantined") return Quarantined{};
  if (g.state == "idle" && !q_.eligible.empty()) hand_on(gpu);
  return NothingToDo{};
}

Reply<ClearedAnswer> Machine::cleared(const std::string& gpu, const std::string& boot, Token token,
                                      bool ok) {
  if (!begin()) return fail(LeaseErrc::no_epoch);
  const auto at = q_.gpus.find(gpu);
  if (at == q_.gpus.end() || at->second.boot != boot || at->second.state != "suspect" ||
      at->second.token != token)
    return ClearedAnswer::not_suspect;
  auto& g = at->second;
  seen_gpu(gpu);
  if (live_lease(g) != nullptr) {
    expire(g.request);
    g.request.clear();
  }
  if (ok && now_ - g.since <= q_.meta.settings.clearing) {
    hand_on(gpu);
  } else {
    g.state = "quarantined";
    g.since = now_;
    g.fails += 1;
    count("quarantined");
  }
  return ClearedAnswer::ok;
}

Reply<bool> Machine::requalify(const std::string& gpu, const std::string& boot) {
  if (!begin()) return fail(LeaseErrc::no_epoch);
  const auto at = q_.gpus.find(gpu);
  if (at == q_.gpus.end() || at->second.boot != boot || at->second.state != "quarantined" ||
      at->second.fails >= 3)
    return false;
  at->second.state = "unconfirmed";
  at->second.since = now_;
  seen_gpu(gpu);
  return true;
}

}  // namespace swage::lease
