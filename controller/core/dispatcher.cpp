#include "controller/core/dispatcher.hpp"

#include <algorithm>
#include <utility>

#include "common/base/check.hpp"

namespace swage::controller {

const char* rollout_state_name(RolloutState state) {
  switch (state) {
    case RolloutState::planned:
      return "planned";
    case RolloutState::claimed:
      return "claimed";
    case RolloutState::sent:
      return "sent";
    case RolloutState::running:
      return "running";
  }
  return "planned";
}

Dispatcher::Dispatcher(DispatchSettings settings)
    : settings_(std::move(settings)), holding_(settings_.take_over > Duration{}) {}

// The learner.

void Dispatcher::learner_accepted(const std::vector<std::string>& ids) {
  completed_.insert(ids.begin(), ids.end());
  known_ = true;
  for (const auto& id : ids)
    if (live_.contains(id) && live_.at(id).state == RolloutState::planned) complete(id);
  rebuild_stage();
}

void Dispatcher::learner_status(const LearnerStatus& status) {
  const bool entered = !attached_ || status.stage != status_.stage;
  if (status.stage != status_.stage) given_up_.clear();
  attached_ = true;
  status_ = status;
  if (entered) {
    std::vector<std::string> old;
    for (const auto& [id, rollout] : live_)
      if (rollout.name.stage != status.stage) old.push_back(id);
    for (const auto& id : old) drop(id, "the stage has ended");
    rebuild_stage();
  }
  for (const auto group : status.cancel_groups) {
    std::vector<std::string> members;
    for (const auto& [id, rollout] : live_)
      if (rollout.name.stage == status.stage && rollout.name.group == group) members.push_back(id);
    for (const auto& id : members) drop(id, "the learner cancelled the group");
    std::erase_if(gaps_, [&](const auto& gap) { return gap.group == group; });
  }
}

void Dispatcher::learner_gone() {
  attached_ = false;
  known_ = false;
}

/// The accepted set, the next group and the gaps of the learner's stage, from all accepted ids.
void Dispatcher::rebuild_stage() {
  if (!attached_ || !known_) return;
  accepted_.clear();
  gaps_.clear();
  next_group_ = status_.next_group;
  for (const auto& id : completed_) {
    const auto name = parse_rollout_id(settings_.run_uid, id);
    if (!name || name->stage != status_.stage) continue;
    accepted_.insert(*name);
    next_group_ = std::max(next_group_, name->group + 1);
  }
  std::set<RolloutName> live;
  for (const auto& [id, rollout] : live_) {
    live.insert(rollout.name);
    next_group_ = std::max(next_group_, rollout.name.group + 1);
  }
  for (std::uint64_t group = 0; group < next_group_; ++group) {
    if (given_up_.contains(group)) continue;
    for (std::uint32_t member = 0; member < status_.group_size; ++member) {
      const RolloutName name{status_.stage, group, member};
      if (!accepted_.contains(name) && !live.contains(name)) gaps_.insert(name);
    }
  }
}

// Workers.

void Dispatcher::worker_joined(const std::string& worker, std::uint32_t capacity, TimePoint now) {
  auto& entry = workers_[worker];
  entry.capacity = capacity;
  entry.connected = true;
  entry.silent = false;
  entry.heard = now;
  entry.unreported.clear();
  for (const auto& [id, rollout] : live_)
    if (rollout.worker == worker && rollout.state >= RolloutState::sent)
      entry.unreported.insert(id);
  entry.reports_due = now + settings_.report_window;
}

void Dispatcher::worker_heard(const std::string& worker, TimePoint now) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  found->second.heard = now;
  found->second.silent = false;
}

void Dispatcher::worker_reported(const std::string& worker, const RolloutNews& news,
                                 TimePoint now) {
  worker_heard(worker, now);
  const auto& attempt = news.attempt;
  const auto found = live_.find(attempt.rollout_id);
  const bool ours = found != live_.end() && found->second.attempt == attempt &&
                    found->second.worker == worker && found->second.state >= RolloutState::sent;
  if (!ours && completed_.contains(attempt.rollout_id)) return;  // its end is on the way
  if (!ours && take_over(worker, news)) return;
  if (!ours) {
    actions_.emplace_back(CancelOnWorker{worker, attempt, "not assigned to this worker any more"});
    return;
  }
  found->second.state = RolloutState::running;
  found->second.turns = news.turns;
  found->second.tokens = news.tokens;
  workers_.at(worker).unreported.erase(attempt.rollout_id);
}

bool Dispatcher::worker_ended(const std::string& worker, const RolloutEnd& end, TimePoint now) {
  worker_heard(worker, now);
  const auto& id = end.attempt.rollout_id;
  const bool taken = end.delivered && end.infrastructure_cause.empty();
  const auto found = live_.find(id);
  if (found == live_.end()) {
    if (!taken || !completed_.insert(id).second) return false;
    // Cancelled here, but it reached the learner first.
    ++counters_.completed;
    const auto name = parse_rollout_id(settings_.run_uid, id);
    if (name && name->stage == status_.stage) accepted_.insert(*name);
    return true;
  }
  auto& rollout = found->second;
  if (taken) {
    // An earlier attempt that was given up for lost counts: the learner has it.
    if (rollout.worker != worker && rollout.state >= RolloutState::sent)
      actions_.emplace_back(CancelOnWorker{rollout.worker, rollout.attempt, "already delivered"});
    complete(id);
    return true;
  }
  if (rollout.attempt != end.attempt || rollout.worker != worker) return false;  // re-issued
  if (!end.infrastructure_cause.empty()) {
    lose(id, end.infrastructure_cause, now);
  } else {
    lose(id, end.cancelled ? "cancelled" : "undelivered", now);
  }
  return true;
}

void Dispatcher::worker_left(const std::string& worker, TimePoint now) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  found->second.connected = false;
  found->second.heard = now;
}

void Dispatcher::worker_died(const std::string& worker, TimePoint now) {
  const auto found = workers_.find(worker);
  if (found != workers_.end()) found->second.connected = false;
  lose_all_of(worker, "worker_lost", now);
}

void Dispatcher::tick(TimePoint now) {
  if (holding_) {
    if (!hold_until_) hold_until_ = now + settings_.take_over;
    holding_ = now < *hold_until_;
    if (!holding_) rebuild_stage();  // what nobody reported is a gap
  }
  for (auto& [name, worker] : workers_) {
    const bool quiet = now - worker.heard >= settings_.silence;
    if (quiet && !worker.silent && has_work(name)) {
      worker.silent = true;
      lose_all_of(name, "worker_lost", now);
    }
    if (worker.reports_due && now >= *worker.reports_due) {
      worker.reports_due.reset();
      for (const auto& id : std::exchange(worker.unreported, {})) {
        const auto found = live_.find(id);
        if (found != live_.end() && found->second.worker == name) lose(id, "worker_lost", now);
      }
    }
  }
}

// Starting rollouts.

std::optional<Dispatcher::Start> Dispatcher::next(TimePoint now) {
  if (!may_plan() || now < paused_until_) return std::nullopt;
  plan();
  const LiveRollout* first = nullptr;
  for (const auto& [id, rollout] : live_) {
    if (rollout.state != RolloutState::planned) continue;
    if (first == nullptr || rollout.name < first->name) first = &rollout;
  }
  if (first == nullptr) return std::nullopt;
  const std::string* best = nullptr;
  std::size_t best_load = 0;
  for (const auto& [name, worker] : workers_) {
    const auto load = load_of(name);
    if (!worker.connected || worker.silent || load >= worker.capacity) continue;
    if (best == nullptr || load < best_load) {
      best = &name;
      best_load = load;
    }
  }
  if (best == nullptr) return std::nullopt;
  return Start{first->attempt, first->name, *best};
}

void Dispatcher::plan() {
  while (true) {
    const auto room = capacity(status_, in_hand());
    if (room == 0) return;
    if (!gaps_.empty()) {
      const auto name = *gaps_.begin();
      gaps_.erase(gaps_.begin());
      plan_member(name);
      continue;
    }
    if (room < status_.group_size) return;
    for (std::uint32_t member = 0; member < status_.group_size; ++member)
      plan_member({status_.stage, next_group_, member});
    ++next_group_;
  }
}

void Dispatcher::plan_member(const RolloutName& name) {
  auto id = make_rollout_id(settings_.run_uid, name);
  check(!completed_.contains(id) && !live_.contains(id), "a rollout is planned once");
  LiveRollout rollout;
  rollout.name = name;
  rollout.attempt = {id, 1};
  live_.emplace(std::move(id), std::move(rollout));
}

void Dispatcher::claimed(const Attempt& attempt, const std::string& worker,
                         const std::string& sandbox_uid) {
  auto& rollout = live_.at(attempt.rollout_id);
  check(rollout.attempt == attempt && rollout.state == RolloutState::planned,
        "only a planned rollout is claimed");
  rollout.state = RolloutState::claimed;
  rollout.worker = worker;
  rollout.sandbox_uid = sandbox_uid;
}

void Dispatcher::sent(const Attempt& attempt, TimePoint now) {
  const auto found = live_.find(attempt.rollout_id);
  if (found == live_.end() || found->second.attempt != attempt) return;
  auto& rollout = found->second;
  if (rollout.state != RolloutState::claimed) return;
  // An idle worker has nothing to say: its silence counts from the first assignment that it got.
  const auto worker = workers_.find(rollout.worker);
  if (worker != workers_.end() && !has_work(rollout.worker)) worker->second.heard = now;
  rollout.state = RolloutState::sent;
}

void Dispatcher::not_sent(const Attempt& attempt) {
  const auto found = live_.find(attempt.rollout_id);
  if (found == live_.end() || found->second.attempt != attempt) return;
  auto& rollout = found->second;
  if (rollout.state != RolloutState::claimed) return;
  actions_.emplace_back(FreeSandbox{rollout.sandbox_uid});
  rollout.state = RolloutState::planned;
  rollout.worker.clear();
  rollout.sandbox_uid.clear();
}

// What becomes of them.

void Dispatcher::complete(const std::string& rollout_id) {
  const auto found = live_.find(rollout_id);
  auto& rollout = found->second;
  if (!rollout.sandbox_uid.empty()) actions_.emplace_back(FreeSandbox{rollout.sandbox_uid});
  actions_.emplace_back(Completed{rollout.attempt});
  if (rollout.name.stage == status_.stage) accepted_.insert(rollout.name);
  completed_.insert(rollout_id);
  ++counters_.completed;
  counters_.replaced_in_a_row = 0;
  pause_ = {};
  paused_until_ = {};
  live_.erase(found);
}

void Dispatcher::lose_all_of(const std::string& worker, const std::string& cause, TimePoint now) {
  std::vector<std::string> ids;
  for (const auto& [id, rollout] : live_)
    if (rollout.worker == worker && rollout.state != RolloutState::planned) ids.push_back(id);
  for (const auto& id : ids) {
    if (live_.contains(id)) lose(id, cause, now);
  }
}

void Dispatcher::lose(const std::string& rollout_id, const std::string& cause, TimePoint now) {
  auto& rollout = live_.at(rollout_id);
  if (completed_.contains(rollout_id)) {  // delivered, and the worker's word of it was lost
    complete(rollout_id);
    return;
  }
  ++counters_.infrastructure_failed;
  if (!rollout.sandbox_uid.empty()) actions_.emplace_back(FreeSandbox{rollout.sandbox_uid});
  rollout.sandbox_uid.clear();
  rollout.worker.clear();
  rollout.turns = rollout.tokens = 0;
  if (rollout.attempt.number >= settings_.max_attempts) {
    replace_group(rollout.name, cause);
    pause_starts(now);
    return;
  }
  rollout.state = RolloutState::planned;
  ++rollout.attempt.number;
  ++counters_.reissued;
  actions_.emplace_back(Reissued{rollout.attempt, cause});
}

/// `name` by value: what it belongs to is dropped on the way.
void Dispatcher::replace_group(RolloutName name, const std::string& cause) {
  given_up_.insert(name.group);
  std::vector<std::string> members;
  for (const auto& [id, rollout] : live_)
    if (rollout.name.stage == name.stage && rollout.name.group == name.group) members.push_back(id);
  for (const auto& id : members) drop(id, "its group is given up");
  std::erase_if(gaps_, [&](const auto& gap) { return gap.group == name.group; });
  ++counters_.groups_replaced;
  ++counters_.replaced_in_a_row;
  actions_.emplace_back(GroupReplaced{name.stage, name.group, cause});
}

/// Groups that fail together count as one failure.
void Dispatcher::pause_starts(TimePoint now) {
  if (now < paused_until_) return;
  pause_ =
      pause_ == Duration{} ? settings_.first_pause : std::min(pause_ * 2, settings_.longest_pause);
  paused_until_ = now + pause_;
}

void Dispatcher::drop(const std::string& rollout_id, const std::string& reason) {
  const auto found = live_.find(rollout_id);
  const auto& rollout = found->second;
  if (!rollout.worker.empty() && rollout.state >= RolloutState::sent)
    actions_.emplace_back(CancelOnWorker{rollout.worker, rollout.attempt, reason});
  if (!rollout.sandbox_uid.empty()) actions_.emplace_back(FreeSandbox{rollout.sandbox_uid});
  live_.erase(found);
}

void Dispatcher::cancel_all(const std::string& reason) {
  suspended_ = true;
  while (!live_.empty()) drop(live_.begin()->first, reason);
}

std::vector<DispatchAction> Dispatcher::take_actions() { return std::exchange(actions_, {}); }

// Counting.

InHand Dispatcher::in_hand() const {
  InHand hand;
  hand.running = live_.size();
  hand.accepted = accepted_.size();
  hand.max_running = settings_.max_running;
  // Of groups that it cancelled the learner counts no member as ready.
  const auto& cancelled = status_.cancel_groups;
  for (const auto& name : accepted_)
    if (given_up_.contains(name.group) &&
        std::find(cancelled.begin(), cancelled.end(), name.group) == cancelled.end())
      ++hand.orphans;
  return hand;
}

std::size_t Dispatcher::load_of(const std::string& worker) const {
  return static_cast<std::size_t>(std::count_if(live_.begin(), live_.end(), [&](const auto& entry) {
    return entry.second.worker == worker && entry.second.state != RolloutState::planned;
  }));
}

bool Dispatcher::has_work(const std::string& worker) const {
  return std::ranges::any_of(live_, [&](const auto& entry) {
    return entry.second.worker == worker && entry.second.state >= RolloutState::sent;
  });
}

}  // namespace swage::controller
