#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace swage::controller {

/// One attempt at one rollout.
struct Attempt {
  std::string rollout_id;
  std::uint32_t number = 1;
  auto operator<=>(const Attempt&) const = default;
};

/// What a worker says about a rollout that it has in hand.
struct RolloutNews {
  Attempt attempt;
  std::string sandbox_uid;
  std::uint32_t turns = 0;
  std::uint32_t tokens = 0;
};

/// What a worker says about a rollout that has ended.
struct RolloutEnd {
  Attempt attempt;
  bool delivered = false;            ///< the learner has it
  std::string infrastructure_cause;  ///< empty if none
  bool cancelled = false;            ///< stop reason `cancelled`
};

/// A worker's whole account of one ended rollout.
struct RolloutAccount {
  RolloutEnd end;
  std::string stop_reason;  ///< lower case, e.g. `turn_limit`
  std::optional<double> reward;
  std::uint32_t turns = 0;
  std::uint32_t tokens = 0;
  std::map<std::string, std::uint32_t> evaluations;  ///< verdicts by code
  std::uint32_t compile_count = 0;
  std::uint32_t compile_units = 0;
  std::uint32_t compile_cache_hits = 0;
  std::string isolation;  ///< `full`, `reduced` or empty
  std::string trust;      ///< `full`, `reduced` or empty
};

}  // namespace swage::controller
