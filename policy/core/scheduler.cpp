#include "policy/core/scheduler.hpp"

#include <algorithm>
#include <string>

#include "common/base/check.hpp"
#include "common/base/digest.hpp"
#include "policy/core/sampler.hpp"

namespace swage::policy {

Scheduler::Scheduler(const SchedulerLimits& limits) : limits_(limits), pool_(limits.pages) {
  check(limits.pages * limits.page_tokens >= limits.context, "one whole session must fit");
}

std::optional<GenerateRefusal> Scheduler::refusal(const GenerateRequest& request) const {
  using enum GenerateErrc;
  if (version_ == 0) return GenerateRefusal{no_weights, "no weights are loaded yet"};
  if (request.min_weight_version > version_)
    return GenerateRefusal{old_weights,
                           "weight version " + std::to_string(version_) + " is loaded, " +
                               std::to_string(request.min_weight_version) + " is wanted"};
  if (requests_.size() >= limits_.queue) return GenerateRefusal{busy, "the queue is full"};
  if (request.session.empty()) return GenerateRefusal{bad_request, "session is empty"};
  if (request.max_tokens == 0) return GenerateRefusal{bad_request, "max_tokens is 0"};
  if (request.held == 0 && request.append_ids.empty())
    return GenerateRefusal{bad_request, "there is nothing to continue"};
  if (auto wrong = bad_sampling(request.sampling)) return GenerateRefusal{bad_request, *wrong};
  const auto beyond = std::ranges::find_if(
      request.append_ids, [&](std::uint32_t id) { return id >= limits_.vocabulary; });
  if (beyond != request.append_ids.end())
    return GenerateRefusal{bad_request,
                           "id " + std::to_string(*beyond) + " is beyond the vocabulary"};
  const auto found = sessions_.find(request.session);
  if (found != sessions_.end() && found->second->request)
    return GenerateRefusal{session_busy, "the session has a request in hand"};
  return std::nullopt;
}

Scheduler::Session* Scheduler::matching_session(const GenerateRequest& request) {
  if (request.held == 0) return &fresh_session(request.session);
  const auto found = sessions_.find(request.session);
  if (found == sessions_.end()) return nullptr;
  auto& session = *found->second;
  const bool same = session.ids.size() == request.held && session.hash == request.held_hash;
  return same ? &session : nullptr;
}

Scheduler::Session& Scheduler::fresh_session(const std::string& name) {
  auto& slot = sessions_[name];
  if (!slot) slot = std::make_unique<Session>();
  slot->name = name;
  slot->ids.clear();
  slot->hash = fnv1a({});
  slot->computed = 0;
  return *slot;
}

void Scheduler::append(Session& session, std::span<const std::uint32_t> ids) {
  session.ids.insert(session.ids.end(), ids.begin(), ids.end());
  session.hash = fnv1a(ids, session.hash);
}

void Scheduler::submit(RequestId id, GenerateRequest request, TimePoint now) {
  if (auto why = refusal(request)) {
    emissions_.push_back({id, std::move(*why)});
    return;
  }
  auto* session = matching_session(request);
  if (!session) {
    emissions_.push_back({id, GenerateEnd{GenerateStop::session_miss, 0, 0}});
    return;
  }
  session->used = now;
  if (session->ids.size() + request.append_ids.size() >=
      static_cast<std::size_t>(limits_.context)) {
    emissions_.push_back({id, GenerateEnd{GenerateStop::context_limit, 0, 0}});
    return;
  }
  append(*session, request.append_ids);
  session->request = id;
  // The last id's hidden state is needed, so it always runs.
  session->computed = std::min(session->computed, session->ids.size() - 1);
  requests_.emplace(id, Request{std::move(request), session, now, false, 0, 0});
}

void Scheduler::forget(RequestId id) {
  const auto found = requests_.find(id);
  found->second.session->request.reset();
  requests_.erase(found);
}

void Scheduler::end(RequestId id, GenerateStop stop) {
  const auto& request = requests_.at(id);
  emissions_.push_back({id, GenerateEnd{stop, request.prefilled, request.generated}});
  forget(id);
}

void Scheduler::refuse(RequestId id, GenerateRefusal refusal) {
  emissions_.push_back({id, std::move(refusal)});
  forget(id);
}

void Scheduler::cancel(RequestId id) {
  if (requests_.contains(id)) end(id, GenerateStop::cancelled);
}

void Scheduler::cancel_all() {
  while (!requests_.empty()) end(requests_.begin()->first, GenerateStop::cancelled);
}

void Scheduler::close(const std::string& name) {
  const auto found = sessions_.find(name);
  if (found == sessions_.end()) return;
  if (const auto request = found->second->request) end(*request, GenerateStop::cancelled);
  pool_.give_back(found->second->pages);
  sessions_.erase(found);
}

void Scheduler::expire(TimePoint now) {
  std::vector<RequestId> late;
  for (const auto& [id, request] : requests_)
    if (request.asked.deadline <= now) late.push_back(id);
  for (const auto id : late) end(id, GenerateStop::cancelled);
  for (auto at = sessions_.begin(); at != sessions_.end();) {
    auto& session = *at->second;
    const bool idle = !session.request && now - session.used >= limits_.idle;
    if (idle) pool_.give_back(session.pages);
    at = idle ? sessions_.erase(at) : std::next(at);
  }
}

void Scheduler::weights_loaded(std::uint64_t version, KvPolicy policy) {
  version_ = version;
  if (policy == KvPolicy::keep) return;
  for (auto& [name, session] : sessions_) session->computed = 0;
}

bool Scheduler::evict_idle_session() {
  Session* oldest = nullptr;
  for (auto& [name, session] : sessions_) {
    if (session->request || session->pages.empty()) continue;
    // Names break ties, so that the choice does not hang on the map's order.
    if (!oldest || std::tie(session->used, name) < std::tie(oldest->used, oldest->name))
      oldest = session.get();
  }
  if (!oldest) return false;
  pool_.give_back(oldest->pages);
  oldest->computed = 0;
  return true;
}

bool Scheduler::preempt_younger_than(RequestId id) {
  for (auto at = requests_.rbegin(); at != requests_.rend() && at->first > id; ++at) {
    auto& session = *at->second.session;
    if (session.pages.empty()) continue;
    pool_.give_back(session.pages);
    session.computed = 0;
    return true;
  }
  return false;
}

bool Scheduler::make_room(RequestId id, Request& request, std::size_t tokens) {
  auto& session = *request.session;
  const auto page = static_cast<std::size_t>(limits_.page_tokens);
  const auto wanted = (session.computed + tokens + page - 1) / page;
  while (!pool_.grow(session.pages, wanted))
    if (!evict_idle_session() && !preempt_younger_than(id)) return false;
  return true;
}

StepPlan Scheduler::plan(TimePoint now) {
  struct Candidate {
    RequestId id;
    Request* request;
  };
  std::vector<Candidate> decodes, prefills;
  for (auto& [id, request] : requests_) {
    if (decodes.size() + prefills.size() == limits_.running) break;
    const bool one = request.session->ids.size() - request.session->computed == 1;
    (one ? decodes : prefills).push_back({id, &request});
  }
  decodes.insert(decodes.end(), prefills.begin(), prefills.end());

  // Rooms first: a later request may take an earlier one's pages only if it is older.
  std::size_t budget = limits_.step_tokens;
  std::vector<std::pair<Candidate, std::size_t>> taken;
  for (const auto& candidate : decodes) {
    const auto& session = *candidate.request->session;
    const auto pending = session.ids.size() - session.computed;
    const auto tokens = std::min({pending, limits_.prefill_chunk, budget});
    if (tokens == 0 || !make_room(candidate.id, *candidate.request, tokens)) continue;
    budget -= tokens;
    taken.emplace_back(candidate, tokens);
  }

  StepPlan plan;
  for (const auto& [candidate, tokens] : taken) {
    auto& [id, request] = candidate;
    auto& session = *request->session;
    if (session.pages.empty()) continue;  // an older request took its pages after all
    if (!std::exchange(request->started, true))
      plan.queue_waits.push_back(now - request->submitted);
    plan.items.push_back({id, std::span(session.ids).subspan(session.computed, tokens),
                          static_cast<std::int64_t>(session.computed), session.pages,
                          session.computed + tokens == session.ids.size(), request->asked.sampling,
                          session.ids.size()});
  }
  return plan;
}

std::vector<Duration> Scheduler::complete(const StepPlan& plan, std::span<const StepSample> samples,
                                          TimePoint now) {
  std::vector<Duration> first_tokens;
  // Appending moves a session's ids, so the plan's spans are read before.
  std::vector<std::pair<RequestId, StepSample>> results;
  for (const auto& item : plan.items) {
    auto& request = requests_.at(item.request);
    request.session->computed += item.ids.size();
    request.session->used = now;
    const bool decode = item.sample && item.ids.size() == 1 && request.generated > 0;
    if (!decode) request.prefilled += static_cast<std::uint32_t>(item.ids.size());
    if (!item.sample) continue;
    check(!samples.empty(), "complete: too few samples");
    if (request.generated == 0) first_tokens.push_back(now - request.submitted);
    results.emplace_back(item.request, samples.front());
    samples = samples.subspan(1);
  }
  check(samples.empty(), "complete: too many samples");
  for (const auto& [id, sample] : results) take_token(id, requests_.at(id), sample);
  return first_tokens;
}

void Scheduler::take_token(RequestId id, Request& request, const StepSample& sample) {
  if (!sample.id) {
    refuse(id, {GenerateErrc::broken_model, "the model's logits are not finite"});
    return;
  }
  const std::uint32_t token = *sample.id;
  append(*request.session, std::span(&token, 1));
  ++request.generated;
  emissions_.push_back({id, SampledTokens{{token}, {sample.behaviour_logprob}, version_}});
  if (std::ranges::find(request.asked.stop_ids, token) != request.asked.stop_ids.end()) {
    end(id, GenerateStop::stop_id);
  } else if (request.generated >= request.asked.max_tokens) {
    end(id, GenerateStop::max_tokens);
  } else if (request.session->ids.size() >= static_cast<std::size_t>(limits_.context)) {
    end(id, GenerateStop::context_limit);
  }
}

double Scheduler::kv_used_ratio() const {
  return 1.0 - static_cast<double>(pool_.free()) / static_cast<double>(pool_.total());
}

}  // namespace swage::policy
