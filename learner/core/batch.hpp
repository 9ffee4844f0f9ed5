#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace swage::learner {

/// One accepted trajectory of the current stage that no step has consumed.
struct ReadyTrajectory {
  std::string rollout_id;
  std::uint64_t group = 0;
  std::uint32_t member = 0;
  std::uint64_t start = 0;  ///< optimiser step of the lowest version in its spans
};

struct BatchQuestion {
  std::uint64_t step = 0;   ///< s, optimiser steps done in this stage
  std::uint32_t batch = 1;  ///< B
  std::uint32_t group_size = 1;
  std::uint32_t staleness = 0;                     ///< eta
  std::vector<std::uint64_t> running_starts = {};  ///< of rollouts that are not accepted yet
  std::vector<std::uint64_t> cancelled = {};       ///< groups given up: nothing of them runs
};

/// What is left of `ready` without the members of these groups.
std::vector<ReadyTrajectory> without_groups(std::vector<ReadyTrajectory> ready,
                                            std::span<const std::uint64_t> groups);

/// The next batch: the B oldest-started complete groups' trajectories, oldest group first, members
/// in order. The oldest member is the group's start; a group is complete when every member is here.
/// Look-ahead hold: taken only if, for every j = 0…eta, at least live(j) − j·B trajectories started
/// at or before step s − eta + j are in it (live = running and ready ones that old); then nothing
/// older than eta is ever trained. Nothing: wait.
std::optional<std::vector<std::string>> select_batch(std::span<const ReadyTrajectory> ready,
                                                     const BatchQuestion& question);

/// The earliest step at which capacity let a group begin: max(0, ceil((g + 1)·size/B) − 1 − eta).
std::uint64_t presumed_start(std::uint64_t group, const BatchQuestion& question);

/// Starts of rollouts that the learner has not seen, for the hold: the members missing from groups
/// below `next_group` that are neither consumed nor cancelled, each taken to have started at its
/// group's presumed_start().
std::vector<std::uint64_t> presumed_running(std::span<const ReadyTrajectory> ready,
                                            std::span<const std::uint64_t> consumed_groups,
                                            std::uint64_t next_group,
                                            const BatchQuestion& question);

}  // namespace swage::learner
