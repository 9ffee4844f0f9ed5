#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/learner_view.hpp"
#include "controller/api/rollout.hpp"

namespace swage::controller {

/// One stage as the run went through it.
struct StageRecord {
  Stage stage = Stage::none;
  std::int64_t started_unix_ms = 0;
  std::int64_t ended_unix_ms = 0;  ///< 0 while it runs
  std::uint64_t steps = 0;         ///< optimiser steps
};

/// What a run has used and produced so far; survives a restart of the controller as JSON in OUT.
/// Pure.
struct RunTotals {
  std::uint64_t evaluations = 0;
  std::map<std::string, std::uint64_t> verdicts;  ///< by lower-case code
  std::uint64_t compile_count = 0;
  std::uint64_t compile_units = 0;
  std::uint64_t compile_cache_hits = 0;
  std::uint64_t infrastructure_failures = 0;
  std::uint64_t reissued = 0;
  std::uint64_t groups_replaced = 0;
  std::uint64_t duplicates_refused = 0;  ///< trajectories that the learner had already
  std::uint64_t duplicates_told = 0;     ///< the learner's own count, by its last status; not saved
  double wall_seconds = 0;               ///< of earlier lives of the controller
  std::string isolation;                 ///< the weakest seen
  std::string trust;                     ///< the weakest seen
  std::vector<StageRecord> stages;
  std::deque<std::uint32_t> lengths;  ///< tokens of the trajectories delivered lately; not saved

  void add(const RolloutAccount& account);
  /// Mean of `lengths`; nothing before the first.
  std::optional<double> length_mean() const;
  /// Notes where the learner is and what it refused; opens and closes stage records. A learner
  /// counts from 0 when it was started again.
  void enter(const LearnerStatus& status, std::int64_t unix_ms);
};

/// `reduced` if either is; else what is known.
std::string weaker(const std::string& a, const std::string& b);

}  // namespace swage::controller
