#include "learner/core/reward.hpp"

#include <algorithm>

namespace swage::learner {

std::optional<double> reward_of(const VerdictSummary& verdict, RewardKind kind) {
  if (!verdict.scored) return std::nullopt;
  switch (verdict.outcome) {
    case Outcome::none:
      return std::nullopt;
    case Outcome::wrong:
      return -1.0;
    case Outcome::unstable:
      return kind == RewardKind::paper ? 1.0 : -1.0;
    case Outcome::right:
      break;
  }
  if (kind == RewardKind::speedup) {
    if (!verdict.ratio_compile || *verdict.ratio_compile <= 0) return -1.0;
    return 1.0 / *verdict.ratio_compile;
  }
  if (verdict.tier < 1 || verdict.tier > 3) return std::nullopt;
  return static_cast<double>(verdict.tier);
}

double total_reward(const Trajectory& trajectory) {
  double sum = 0;
  for (const auto& entry : trajectory.rewards) sum += entry.value;
  return sum;
}

std::vector<double> token_rewards(const Trajectory& trajectory, const Learning& learning,
                                  std::uint64_t context) {
  const auto positions = policy_positions(trajectory);
  std::vector<double> out(positions.size(), 0.0);
  if (positions.empty()) return out;
  for (const auto& entry : trajectory.rewards) {
    const auto after = std::upper_bound(positions.begin(), positions.end(), entry.position);
    const auto index = after == positions.begin() ? 0 : after - positions.begin() - 1;
    out[static_cast<std::size_t>(index)] += entry.value;
  }
  if (learning.overlong == Overlong::soft && trajectory.truncated && learning.overlong_tokens > 0) {
    const double start =
        static_cast<double>(context) - static_cast<double>(learning.overlong_tokens);
    const double over = static_cast<double>(trajectory.ids.size()) - start;
    out.back() -= std::clamp(over / learning.overlong_tokens, 0.0, 1.0);
  }
  return out;
}

}  // namespace swage::learner
