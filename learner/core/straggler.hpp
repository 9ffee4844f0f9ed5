#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/time.hpp"
#include "learner/core/batch.hpp"

namespace swage::learner {

/// What keeps the next batch from being taken.
struct Blockage {
  std::vector<std::uint64_t> groups;  ///< ascending; empty: nothing does, or nobody knows
  /// There are enough complete groups, and the look-ahead hold waits for these older ones. Else
  /// there are too few.
  bool held = false;
};

/// ready, consumed_groups (ascending), next_group: as presumed_running(). The groups are incomplete
/// ones: the oldest of them under a hold, else all. A group of which no member and no later group
/// was ever heard is not known here; its rollouts end by their own bounds.
Blockage blockage(std::span<const ReadyTrajectory> ready,
                  std::span<const std::uint64_t> consumed_groups, std::uint64_t next_group,
                  const BatchQuestion& question);

/// Says which groups are cancelled because they never fill (design, learning, section 7): those
/// that have blocked for `wait`. A group under a hold blocks from when it is the oldest; where
/// there are too few groups, from the last trajectory that came, for as long as some come the
/// others are only slow. Pure; the caller asks again at due(), or when something came.
class StragglerWatch {
 public:
  explicit StragglerWatch(Duration wait) : wait_(wait) {}

  /// accepted: trajectories of the stage so far. Groups that are returned must not block again.
  std::vector<std::uint64_t> observe(Blockage seen, std::uint64_t accepted, TimePoint now);
  /// When observe() may have something to cancel; nothing while nothing blocks.
  std::optional<TimePoint> due() const;

 private:
  Duration wait_;
  Blockage seen_;
  std::uint64_t accepted_ = 0;
  std::optional<TimePoint> since_;
};

}  // namespace swage::learner
