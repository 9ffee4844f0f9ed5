#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "learner/api/trajectory.hpp"
#include "learner/core/admission.hpp"
#include "learner/core/batch.hpp"
#include "learner/core/stage_plan.hpp"

namespace swage::learner {

/// One trajectory frame of the log, without its tokens.
struct LedgerEntry {
  std::uint64_t seq = 0;
  std::string rollout_id;
  std::uint32_t attempt = 0;
  StageSlot slot;
  Use use = Use::none;  ///< after admission
  std::uint64_t group = 0;
  std::uint32_t member = 0;
  std::uint32_t tokens = 0;
  std::uint32_t policy_tokens = 0;
  std::uint32_t turns = 0;
  std::string task_id;
  RolloutStop stop_reason = RolloutStop::none;
  bool truncated = false;
  bool infrastructure = false;  ///< kept for diagnosis; occupies nothing
  std::optional<double> reward;
  std::uint64_t lowest_version = 0;  ///< 0: no span
};

LedgerEntry ledger_entry(const Trajectory& trajectory, Use use, std::uint64_t seq);

/// A `version` frame.
struct VersionRecord {
  std::uint64_t version = 0;
  StageSlot slot;          ///< where the run stood
  std::uint64_t step = 0;  ///< optimiser steps done in that stage
};

/// A `batch` frame.
struct BatchRecord {
  StageSlot slot;
  std::uint64_t step = 0;  ///< the step that consumes it, from 0
  std::vector<std::string> rollout_ids;
};

/// An `abandon` frame: a rollback to `step` took back these versions.
struct AbandonRecord {
  StageSlot slot;
  std::uint64_t step = 0;
  std::vector<std::uint64_t> versions;
};

/// What the log says, in memory: who is in it, which versions were published, which trajectories
/// each step consumed. Fed with the frames in order. Pure.
class Ledger {
 public:
  bool has(const std::string& rollout_id) const { return by_id_.contains(rollout_id); }
  /// The entry that occupies the id; null if none does.
  const LedgerEntry* find(const std::string& rollout_id) const;
  void add(LedgerEntry entry);
  void add(const VersionRecord& record);
  void add(const BatchRecord& record);
  void add(const AbandonRecord& record);

  const PublishedVersions& versions() const { return versions_; }
  std::uint64_t newest_version() const;

  /// Everything in the order of the log, infrastructure failures too.
  const std::vector<LedgerEntry>& entries() const { return entries_; }
  /// How many ids are occupied: infrastructure failures count for nothing.
  std::uint64_t accepted() const { return by_id_.size(); }
  /// Ids that are occupied, in the order of the log.
  std::vector<std::string> accepted_ids() const;

  /// The first `limit` trajectories of a slot with this use or, without `use`, any.
  std::vector<const LedgerEntry*> of_slot(const StageSlot& slot, std::optional<Use> use,
                                          std::uint64_t limit) const;
  std::uint64_t accepted(const StageSlot& slot) const;
  /// 1 + the highest group number accepted in the slot; 0 before the first.
  std::uint64_t next_group(const StageSlot& slot) const;

  /// The batch that an earlier life of the process logged for this step.
  const std::vector<std::string>* logged_batch(const StageSlot& slot, std::uint64_t step) const;
  /// Accepted in the slot, of no abandoned version, and in no batch of a step before `step`.
  std::vector<ReadyTrajectory> ready(const StageSlot& slot, std::uint64_t step) const;
  /// Groups consumed by steps before `step`.
  std::vector<std::uint64_t> consumed_groups(const StageSlot& slot, std::uint64_t step) const;
  /// Optimiser step of `slot` at which a trajectory started: that of its lowest version, 0 if that
  /// was published before the stage began.
  std::uint64_t start_step(const LedgerEntry& entry, const StageSlot& slot) const;

 private:
  using SlotKey = std::pair<Stage, std::uint32_t>;
  static SlotKey key(const StageSlot& slot) { return {slot.stage, slot.round}; }
  std::set<std::string> consumed_before(const StageSlot& slot, std::uint64_t step) const;

  std::vector<LedgerEntry> entries_;
  std::unordered_map<std::string, std::size_t> by_id_;
  std::map<SlotKey, std::vector<std::size_t>> by_slot_;
  std::map<SlotKey, std::map<std::uint64_t, std::vector<std::string>>> batches_;
  PublishedVersions versions_;
  std::map<std::uint64_t, VersionRecord> version_records_;
};

}  // namespace swage::learner
