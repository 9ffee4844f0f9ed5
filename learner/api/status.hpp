#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "learner/api/trajectory.hpp"

namespace swage::learner {

struct Pause {
  std::string id;       ///< a resume names it
  std::string reason;   ///< guardrail's name, `DiskFull`, `RftStarved` or `CriticUnfit`
  std::string message;  ///< for people, with the remedy
};

struct Condition {
  std::string type;
  bool status = false;
  std::string reason;
  std::string message;
  bool operator==(const Condition&) const = default;
};

/// Where the learner stands; what the controller sees (proto: LearnerStatus).
struct Status {
  Stage stage = Stage::collect;
  std::uint32_t round = 0;
  std::uint64_t stage_serial = 1;
  std::uint64_t step = 0;
  std::uint64_t steps_total = 0;
  std::uint64_t weight_version = 0;
  std::uint64_t target = 0;
  std::uint64_t accepted = 0;
  std::uint64_t ready = 0;
  std::uint64_t consumed = 0;
  std::uint32_t staleness = 0;
  std::uint32_t batch = 0;
  std::uint32_t group_size = 1;
  std::uint64_t next_group = 0;
  std::optional<Pause> pause;
  std::vector<Condition> conditions;
  std::vector<std::uint64_t> cancel_groups;
  bool training = false;
  std::optional<double> reward_mean, reward_after_rft, reward_final;
  std::uint64_t trajectories = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t rejected = 0;
  std::string progress;
};

}  // namespace swage::learner
