#include "learner/core/ledger.hpp"

#include <algorithm>
#include <utility>

#include "learner/core/reward.hpp"

namespace swage::learner {
namespace {

/// The controller gives a group up when one of its members has failed so often.
constexpr std::uint32_t kMostAttempts = 3;

}  // namespace

LedgerEntry ledger_entry(const Trajectory& t, Use use, std::uint64_t seq) {
  LedgerEntry e;
  e.seq = seq;
  e.rollout_id = t.rollout_id;
  e.attempt = t.attempt;
  e.slot = {t.stage.value_or(Stage::done), t.stage_round};
  e.use = use;
  e.group = t.group_id;
  e.member = t.group_index;
  e.tokens = static_cast<std::uint32_t>(t.ids.size());
  e.policy_tokens = static_cast<std::uint32_t>(policy_positions(t).size());
  e.turns = static_cast<std::uint32_t>(t.turns.size());
  e.task_id = t.task_id;
  e.stop_reason = t.stop_reason;
  e.truncated = t.truncated;
  e.infrastructure = !t.infrastructure_failure.empty();
  if (!t.rewards.empty()) e.reward = total_reward(t);
  for (const auto& span : t.spans)
    e.lowest_version =
        e.lowest_version == 0 ? span.version : std::min(e.lowest_version, span.version);
  return e;
}

const LedgerEntry* Ledger::find(const std::string& rollout_id) const {
  const auto at = by_id_.find(rollout_id);
  return at == by_id_.end() ? nullptr : &entries_[at->second];
}

const Ledger::Slot* Ledger::slot_at(const StageSlot& slot) const {
  const auto at = slots_.find(key(slot));
  return at == slots_.end() ? nullptr : &at->second;
}

void Ledger::add(LedgerEntry entry) {
  const std::size_t index = entries_.size();
  auto& slot = slots_[key(entry.slot)];
  if (entry.infrastructure) {
    auto& lost = slot.groups[entry.group].lost[entry.member];
    lost = std::max(lost, entry.attempt);
    if (entry.attempt >= kMostAttempts && !has(entry.rollout_id)) slot.failed.insert(entry.group);
  } else if (by_id_.emplace(entry.rollout_id, index).second) {
    slot.accepted.push_back(index);
    slot.groups[entry.group].accepted.push_back(index);
    if (entry.use != Use::evaluation) slot.open.insert(index);
  }
  entries_.push_back(std::move(entry));
}

void Ledger::add(const VersionRecord& record) {
  versions_.published.insert(record.version);
  version_records_[record.version] = record;
}

void Ledger::add(const BatchRecord& record) {
  auto& slot = slots_[key(record.slot)];
  unlog(slot, record.step);
  for (const auto& id : record.rollout_ids) {
    const auto at = by_id_.find(id);
    if (at == by_id_.end()) continue;
    slot.open.erase(at->second);
    slot.groups[entries_[at->second].group].consumed = record.step;
  }
  for (const auto group : std::exchange(slot.failed, {})) slot.groups[group].given_up = record.step;
  slot.batches[record.step] = record.rollout_ids;
}

void Ledger::add(const AbandonRecord& record) {
  versions_.abandoned.insert(record.versions.begin(), record.versions.end());
  auto& slot = slots_[key(record.slot)];
  while (!slot.batches.empty() && slot.batches.rbegin()->first >= record.step)
    unlog(slot, slot.batches.rbegin()->first);
}

/// Takes a logged batch back.
void Ledger::unlog(Slot& slot, std::uint64_t step) {
  const auto batch = slot.batches.find(step);
  if (batch == slot.batches.end()) return;
  for (const auto& id : batch->second) {
    const auto at = by_id_.find(id);
    if (at == by_id_.end()) continue;
    slot.open.insert(at->second);
    slot.groups[entries_[at->second].group].consumed.reset();
  }
  slot.batches.erase(batch);
}

std::uint64_t Ledger::newest_version() const {
  return versions_.published.empty() ? 0 : *versions_.published.rbegin();
}

std::vector<std::string> Ledger::accepted_ids() const {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (const auto at = by_id_.find(entries_[i].rollout_id); at != by_id_.end() && at->second == i)
      ids.push_back(entries_[i].rollout_id);
  return ids;
}

std::vector<const LedgerEntry*> Ledger::of_slot(const StageSlot& slot, std::optional<Use> use,
                                                std::uint64_t limit) const {
  std::vector<const LedgerEntry*> out;
  const auto* at = slot_at(slot);
  if (at == nullptr) return out;
  for (const auto index : at->accepted) {
    if (out.size() >= limit) break;
    if (!use || entries_[index].use == *use) out.push_back(&entries_[index]);
  }
  return out;
}

std::uint64_t Ledger::accepted(const StageSlot& slot) const {
  const auto* at = slot_at(slot);
  return at == nullptr ? 0 : at->accepted.size();
}

std::uint64_t Ledger::next_group(const StageSlot& slot) const {
  const auto* at = slot_at(slot);
  if (at == nullptr) return 0;
  const auto newest = std::find_if(at->groups.rbegin(), at->groups.rend(), [](const auto& group) {
    return !group.second.accepted.empty();
  });
  return newest == at->groups.rend() ? 0 : newest->first + 1;
}

const std::vector<std::string>* Ledger::logged_batch(const StageSlot& slot,
                                                     std::uint64_t step) const {
  const auto* at = slot_at(slot);
  if (at == nullptr) return nullptr;
  const auto batch = at->batches.find(step);
  return batch == at->batches.end() ? nullptr : &batch->second;
}

std::vector<ReadyTrajectory> Ledger::ready(const StageSlot& slot, std::uint64_t step) const {
  const auto* at = slot_at(slot);
  if (at == nullptr) return {};
  // A start from a checkpoint finds batches that were logged after it.
  auto indices = at->open;
  for (auto batch = at->batches.lower_bound(step); batch != at->batches.end(); ++batch)
    for (const auto& id : batch->second)
      if (const auto known = by_id_.find(id); known != by_id_.end()) indices.insert(known->second);
  std::vector<ReadyTrajectory> out;
  for (const auto index : indices) {
    const auto& entry = entries_[index];
    if (!versions_.abandoned.contains(entry.lowest_version))
      out.push_back({entry.rollout_id, entry.group, entry.member, start_step(entry, slot)});
  }
  return out;
}

std::vector<std::uint64_t> Ledger::consumed_groups(const StageSlot& slot,
                                                   std::uint64_t step) const {
  std::vector<std::uint64_t> out;
  const auto* at = slot_at(slot);
  if (at == nullptr) return out;
  for (const auto& [number, group] : at->groups)
    if (group.consumed && *group.consumed < step) out.push_back(number);
  return out;
}

std::vector<std::uint64_t> Ledger::failed_groups(const StageSlot& slot) const {
  std::vector<std::uint64_t> out;
  const auto* at = slot_at(slot);
  if (at == nullptr) return out;
  for (const auto& [number, group] : at->groups)
    if (group.given_up || at->failed.contains(number)) out.push_back(number);
  return out;
}

/// Of a group that was given up.
Attempts Ledger::attempts_of(const Group& group, const std::vector<LedgerEntry>& entries) {
  Attempts sum;
  auto lost = group.lost;
  for (const auto index : group.accepted) {
    lost.erase(entries[index].member);
    sum.made += entries[index].attempt;
    sum.lost += entries[index].attempt - 1;
  }
  std::uint64_t failed = 0;
  std::uint32_t most = 0;
  for (const auto& [member, attempts] : lost) {
    failed += attempts;
    most = std::max(most, attempts);
  }
  // One member lost its last attempt, with or without a record.
  if (most < kMostAttempts) failed += kMostAttempts - most;
  return {sum.made + failed, sum.lost + failed};
}

Attempts Ledger::attempts(const StageSlot& slot, const BatchQuestion& question) const {
  Attempts sum;
  const auto* at = slot_at(slot);
  if (at == nullptr) return sum;
  const auto batch = at->batches.find(question.step);
  if (batch == at->batches.end()) return sum;
  std::uint64_t last = 0;  // one above the highest group of the batch
  for (const auto& id : batch->second) {
    const auto* entry = find(id);
    if (entry == nullptr) continue;
    sum.made += entry->attempt;
    sum.lost += entry->attempt - 1;
    last = std::max(last, entry->group + 1);
  }
  std::uint64_t first = 0;  // one above the highest group of the batches before
  for (const auto& [number, group] : at->groups)
    if (group.consumed && *group.consumed < question.step) first = number + 1;
  const std::set<std::uint64_t> cancelled(question.cancelled.begin(), question.cancelled.end());
  const auto add = [&](const Group& group) {
    const auto more = attempts_of(group, entries_);
    sum.made += more.made;
    sum.lost += more.lost;
  };
  for (const auto& [number, group] : at->groups)
    if (group.given_up == question.step) add(group);
  if (question.staleness > 0) return sum;
  for (auto number = first; number < last; ++number) {
    const auto found = at->groups.find(number);
    const Group unseen;
    const auto& group = found == at->groups.end() ? unseen : found->second;
    if (!group.given_up && group.accepted.size() < question.group_size &&
        !cancelled.contains(number))
      add(group);
  }
  return sum;
}

std::uint64_t Ledger::start_step(const LedgerEntry& entry, const StageSlot& slot) const {
  const auto at = version_records_.find(entry.lowest_version);
  return at == version_records_.end() || at->second.slot != slot ? 0 : at->second.step;
}

}  // namespace swage::learner
