#include "rollout_worker/core/repetition.hpp"

#include <algorithm>

namespace swage::rollout_worker {
namespace {

bool same_calls(const TurnRecord& a, const TurnRecord& b) {
  return std::ranges::equal(a.calls, b.calls, [](const CallRecord& x, const CallRecord& y) {
    return x.name == y.name && x.arguments_digest == y.arguments_digest;
  });
}

bool redundant(std::span<const TurnRecord> turns, std::size_t at) {
  const auto& turn = turns[at];
  if (turn.calls.empty()) return false;
  for (auto i = at; i > 0; --i) {
    const auto& earlier = turns[i - 1];
    if (earlier.work_digest != turn.work_digest) return false;
    if (same_calls(earlier, turn) && earlier.observation_digest == turn.observation_digest)
      return true;
  }
  return false;
}

}  // namespace

double redundant_share(std::span<const TurnRecord> turns) {
  if (turns.empty()) return 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < turns.size(); ++i) count += redundant(turns, i) ? 1 : 0;
  return static_cast<double>(count) / static_cast<double>(turns.size());
}

}  // namespace swage::rollout_worker
