#include "learner/core/aggregation.hpp"

#include "common/base/check.hpp"

namespace swage::learner {

std::vector<double> token_weights(std::span<const std::uint64_t> lengths, Aggregation mode,
                                  std::uint64_t context) {
  check(context > 0, "a context of at least one token");
  double tokens = 0;
  double trajectories = 0;
  for (const auto n : lengths) {
    tokens += static_cast<double>(n);
    trajectories += n > 0 ? 1 : 0;
  }
  std::vector<double> out;
  out.reserve(lengths.size());
  for (const auto n : lengths) {
    double weight = 0;
    if (n > 0) switch (mode) {
        case Aggregation::trajectory_mean:
          weight = 1.0 / (trajectories * static_cast<double>(n));
          break;
        case Aggregation::token_mean:
          weight = 1.0 / tokens;
          break;
        case Aggregation::token_sum:
          weight = 1.0;
          break;
        case Aggregation::trajectory_sum:
          weight = 1.0 / trajectories;
          break;
        case Aggregation::trajectory_sum_norm:
          weight = 1.0 / (trajectories * static_cast<double>(context));
          break;
      }
    out.push_back(weight);
  }
  return out;
}

}  // namespace swage::learner
