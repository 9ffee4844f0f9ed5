#include "learner/core/ledger.hpp"

#include <algorithm>

#include "learner/core/reward.hpp"

namespace swage::learner {

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

void Ledger::add(LedgerEntry entry) {
  const std::size_t index = entries_.size();
  if (!entry.infrastructure && by_id_.emplace(entry.rollout_id, index).second)
    by_slot_[key(entry.slot)].push_back(index);
  entries_.push_back(std::move(entry));
}

void Ledger::add(const VersionRecord& record) {
  versions_.published.insert(record.version);
  version_records_[record.version] = record;
}

void Ledger::add(const BatchRecord& record) {
  batches_[key(record.slot)][record.step] = record.rollout_ids;
}

void Ledger::add(const AbandonRecord& record) {
  versions_.abandoned.insert(record.versions.begin(), record.versions.end());
  auto& batches = batches_[key(record.slot)];
  batches.erase(batches.lower_bound(record.step), batches.end());
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
  const auto at = by_slot_.find(key(slot));
  if (at == by_slot_.end()) return out;
  for (const auto index : at->second) {
    if (out.size() >= limit) break;
    if (!use || entries_[index].use == *use) out.push_back(&entries_[index]);
  }
  return out;
}

std::uint64_t Ledger::accepted(const StageSlot& slot) const {
  const auto at = by_slot_.find(key(slot));
  return at == by_slot_.end() ? 0 : at->second.size();
}

std::uint64_t Ledger::next_group(const StageSlot& slot) const {
  std::uint64_t next = 0;
  const auto at = by_slot_.find(key(slot));
  if (at == by_slot_.end()) return next;
  for (const auto index : at->second) next = std::max(next, entries_[index].group + 1);
  return next;
}

const std::vector<std::string>* Ledger::logged_batch(const StageSlot& slot,
                                                     std::uint64_t step) const {
  const auto batches = batches_.find(key(slot));
  if (batches == batches_.end()) return nullptr;
  const auto at = batches->second.find(step);
  return at == batches->second.end() ? nullptr : &at->second;
}

std::set<std::string> Ledger::consumed_before(const StageSlot& slot, std::uint64_t step) const {
  std::set<std::string> out;
  const auto batches = batches_.find(key(slot));
  if (batches == batches_.end()) return out;
  for (const auto& [at, ids] : batches->second)
    if (at < step) out.insert(ids.begin(), ids.end());
  return out;
}

std::vector<ReadyTrajectory> Ledger::ready(const StageSlot& slot, std::uint64_t step) const {
  const auto consumed = consumed_before(slot, step);
  std::vector<ReadyTrajectory> out;
  for (const auto* entry : of_slot(slot, std::nullopt, entries_.size()))
    if (!consumed.contains(entry->rollout_id) && entry->use != Use::evaluation &&
        !versions_.abandoned.contains(entry->lowest_version))
      out.push_back({entry->rollout_id, entry->group, entry->member, start_step(*entry, slot)});
  return out;
}

std::vector<std::uint64_t> Ledger::consumed_groups(const StageSlot& slot,
                                                   std::uint64_t step) const {
  std::set<std::uint64_t> groups;
  for (const auto& id : consumed_before(slot, step))
    if (const auto* entry = find(id)) groups.insert(entry->group);
  return {groups.begin(), groups.end()};
}

std::uint64_t Ledger::start_step(const LedgerEntry& entry, const StageSlot& slot) const {
  const auto at = version_records_.find(entry.lowest_version);
  return at == version_records_.end() || at->second.slot != slot ? 0 : at->second.step;
}

}  // namespace swage::learner
