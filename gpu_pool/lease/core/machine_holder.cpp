// The calls of a holder.
#include <algorithm>

#include "gpu_pool/lease/core/machine.hpp"

namespace swage::lease {
namespace {

Ended ended_from(const std::string& state) {
  if (state == "released") return {EndState::released};
  if (state == "expired") return {EndState::expired};
  if (state == "cancelled") return {EndState::cancelled};
  if (state == "timeout") return {EndState::timeout};
  return {EndState::dead};
}

tl::unexpected<LeaseErrc> fail(LeaseErrc code) { return tl::unexpected(code); }

}  // namespace

Reply<AcquireReply> Machine::acquire(const HoldAsk& ask, const std::string& client, Micros age,
                                     bool first) {
  if (!begin()) return fail(LeaseErrc::no_epoch);
  const std::string& id = ask.request.str();
  seen_client(client);
  if (const auto* r = find(id)) {
    if (r->state == RequestState::parked) {
      enqueue(id);
      use_free({id}, RequestState::granted);
    }
    return state_of(id, false);
  }
  if (const auto how = ended(id)) return ended_from(*how);
  const auto& settings = q_.meta.settings;
  if (settings.closed == 1) return Closed{};
  const auto mine = q_.counters.find("w|" + client);
  if ((mine != q_.counters.end() && mine->second >= settings.waiting_client) ||
      static_cast<std::int64_t>(q_.wait.size()) >= settings.waiting) {
    count("refused");
    return FullReply{1000};
  }
  const auto known = q_.runs.find(ask.run.str());
  RunRecord run = known == q_.runs.end() ? RunRecord{1, 0, 0, 0, q_.meta.vclock} : known->second;
  run.weight = ask.weight;
  run.cap = ask.cap;
  put_run(ask.run.str(), run);
  RequestRecord r;
  r.run = ask.run.str();
  r.cls = ask.cls;
  r.client = client;
  r.enqueued = now_ - age;
  q_.requests[id] = r;
  const auto state = first ? RequestState::held : RequestState::granted;
  const auto gpu = latest_free();
  if (gpu && q_.eligible.empty() && confirmed()) {
    grant(id, *gpu, state);
  } else {
    enqueue(id);
    use_free({id}, state);
  }
  return state_of(id, first && q_.requests[id].state == RequestState::held);
}

Reply<RenewReply> Machine::renew(const std::string& request, Token token) {
  if (!begin()) return fail(LeaseErrc::no_epoch);
  auto* r = find(request);
  if (r == nullptr) return fail(ended(request) ? LeaseErrc::expired : LeaseErrc::unknown);
  seen_client(r->client);
  if (token > r->token) return fail(LeaseErrc::not_holder);
  if (token < r->token || r->state == RequestState::waiting || r->state == RequestState::parked)
    return fail(LeaseErrc::requeued);
  if (q_.gpus[r->gpu].state == "suspect") return fail(LeaseErrc::expired);
  const auto& s = q_.meta.settings;
  const Micros due = std::min(now_ + s.ttl, r->granted + s.hold);
  if (due - s.margin <= now_) return fail(LeaseErrc::hold_limit);
  r->state = RequestState::held;
  q_.due[request] = due;
  return RenewReply{(due - now_ - s.margin) / 1000, (s.ttl - s.margin) / 3000};
}

Reply<void> Machine::release(const std::string& request, Token token, ReleaseAs how) {
  if (!begin()) return fail(LeaseErrc::no_epoch);
  auto* r = find(request);
  if (r == nullptr) {
    const auto state = ended(request);
    // A retry that was the last one left nothing to hold: its repeat hears the same.
    if (state == "released" || (state == "dead" && how == ReleaseAs::retry)) return {};
    return fail(state ? LeaseErrc::not_holder : LeaseErrc::unknown);
  }
  seen_client(r->client);
  if (r->returned == token.counter && how == ReleaseAs::retry) return {};
  if (r->token != token || r->state == RequestState::waiting || r->state == RequestState::parked)
    return fail(LeaseErrc::not_holder);
  const std::string gpu = r->gpu;
  const bool clear = q_.gpus[gpu].state == "leased" && how == ReleaseAs::clear;
  if (how == ReleaseAs::retry) {
    r->returned = token.counter;
    requeue(request);
  } else {
    settle(request, r->state == RequestState::held && clear);
    finish(request, "released");
  }
  if (clear) {
    vacate(gpu);
  } else {
    q_.gpus[gpu].request.clear();
    unsure(gpu);
  }
  return {};
}

Reply<std::vector<PollReply>> Machine::poll(const std::string& client,
                                            const std::vector<std::string>& requests) {
  if (!begin()) return fail(LeaseErrc::no_epoch);
  seen_client(client);
  std::set<std::string> here;
  for (const auto& id : requests) {
    const auto* r = find(id);
    if (r == nullptr) continue;
    if (r->client == client) here.insert(id);
    if (r->state == RequestState::parked) enqueue(id);
  }
  use_free(here, RequestState::granted);
  std::vector<PollReply> states;
  for (const auto& id : requests) {
    if (find(id) != nullptr) {
      const AcquireReply state = state_of(id, false);
      if (const auto* waiting = std::get_if<Waiting>(&state)) {
        states.emplace_back(*waiting);
      } else {
        states.emplace_back(std::get<GrantReply>(state));
      }
    } else if (const auto how = ended(id)) {
      states.emplace_back(ended_from(*how));
    } else {
      states.emplace_back(Unknown{});
    }
  }
  return states;
}

Reply<CancelAnswer> Machine::cancel(const std::string& request) {
  if (!begin()) return fail(LeaseErrc::no_epoch);
  auto* r = find(request);
  if (r == nullptr) return CancelAnswer::ok;
  seen_client(r->client);
  if (r->state == RequestState::held) return CancelAnswer::held;
  drop(request, "cancelled");
  return CancelAnswer::ok;
}

}  // namespace swage::lease
