#pragma once

#include <cstdint>
#include <vector>

#include "controller/core/rollout_id.hpp"

namespace swage::controller {

/// The tasks of one set, as places in the run's task list.
struct TaskShare {
  std::vector<std::size_t> tasks;
  int weight = 1;  ///< share of the groups, >= 0
};

/// What one rollout works on.
struct Dealt {
  std::size_t task = 0;    ///< place in the run's task list
  std::uint32_t card = 0;  ///< teacher's card; 0 outside collect
  auto operator<=>(const Dealt&) const = default;
};

/// Says which task a group works on. Pure: follows from (seed, stage, group) alone, so that a
/// restarted controller deals the same.
///  * Sets take turns by weight; inside a set every block of |set| groups covers each task once, in
///    an order shuffled per block (PPO stages) or in list order (collect, evaluation).
///  * collect: the n-th rollout of a task plays the n-th card of its deck, shuffled by the seed;
///    when the deck is through it is shuffled afresh.
class Curriculum {
 public:
  /// shares: at least one with weight > 0 and a task. deck_sizes: cards of each task, in the order
  /// of the run's task list; 0: no teacher for it.
  Curriculum(std::int64_t seed, std::vector<TaskShare> shares,
             std::vector<std::uint32_t> deck_sizes);

  /// group_size: members of a group in this stage, >= 1.
  Dealt deal(const RolloutName& name, std::uint32_t group_size) const;

 private:
  struct Place {
    std::size_t share;  ///< whose turn
    std::uint64_t nth;  ///< how many groups this share had before
  };
  Place place(std::uint64_t group) const;

  std::int64_t seed_;
  std::vector<TaskShare> shares_;
  std::vector<std::uint32_t> deck_sizes_;
  std::vector<std::size_t> turns_;  ///< one period of whose turn it is
};

}  // namespace swage::controller
