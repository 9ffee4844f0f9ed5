#pragma once

#include <cstdint>
#include <span>

#include "learner/api/trajectory.hpp"

namespace swage::learner {

/// Why a trajectory is left out of rejection-sampling fine-tuning.
enum class RftVerdict { keep, empty, not_rewarded, schema_invalid, redundant_loop };

/// Three redundant turns in a row, a cycle of 1 to 4 such turns three times in succession, or over
/// 20 % of the turns redundant.
bool has_redundant_loop(std::span<const Turn> turns);

/// Keep R > 0, every call schema-valid, no redundant loop, at least one policy token.
RftVerdict rft_filter(const Trajectory& trajectory);

/// How many the filter kept and why it dropped the others.
struct RftCounts {
  std::uint64_t kept = 0, empty = 0, not_rewarded = 0, schema_invalid = 0, redundant_loop = 0;
  void add(RftVerdict verdict);
};

}  // namespace swage::learner
