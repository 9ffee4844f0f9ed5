#include "learner/core/rft_filter.hpp"

#include <algorithm>
#include <vector>

#include "common/base/redundant_turns.hpp"
#include "learner/core/reward.hpp"

namespace swage::learner {
namespace {

/// Three copies of one block of `period` turns, side by side, all of them with calls and over an
/// unchanged work directory.
bool cycles(std::span<const Turn> turns, std::size_t period) {
  const std::size_t length = 3 * period;
  for (std::size_t start = 0; start + length <= turns.size(); ++start) {
    bool repeats = true;
    for (std::size_t i = 0; repeats && i < length; ++i) {
      const auto& turn = turns[start + i];
      repeats = !turn.calls.empty() && turn.work_digest == turns[start].work_digest &&
                same_act(turn, turns[start + i % period]);
    }
    if (repeats) return true;
  }
  return false;
}

}  // namespace

bool has_redundant_loop(std::span<const Turn> turns) {
  const auto redundant = redundant_turns(turns);
  const auto count = static_cast<std::size_t>(std::count(redundant.begin(), redundant.end(), true));
  if (5 * count > turns.size()) return true;
  for (std::size_t u = 2; u < redundant.size(); ++u)
    if (redundant[u] && redundant[u - 1] && redundant[u - 2]) return true;
  for (std::size_t period = 1; period <= 4; ++period)
    if (cycles(turns, period)) return true;
  return false;
}

RftVerdict rft_filter(const Trajectory& trajectory) {
  if (std::find(trajectory.mask.begin(), trajectory.mask.end(), 1) == trajectory.mask.end())
    return RftVerdict::empty;
  if (total_reward(trajectory) <= 0) return RftVerdict::not_rewarded;
  for (const auto& turn : trajectory.turns)
    for (const auto& call : turn.calls)
      if (!call.schema_valid) return RftVerdict::schema_invalid;
  if (has_redundant_loop(trajectory.turns)) return RftVerdict::redundant_loop;
  return RftVerdict::keep;
}

void RftCounts::add(RftVerdict verdict) {
  switch (verdict) {
    case RftVerdict::keep:
      ++kept;
      break;
    case RftVerdict::empty:
      ++empty;
      break;
    case RftVerdict::not_rewarded:
      ++not_rewarded;
      break;
    case RftVerdict::schema_invalid:
      ++schema_invalid;
      break;
    case RftVerdict::redundant_loop:
      ++redundant_loop;
      break;
  }
}

}  // namespace swage::learner
