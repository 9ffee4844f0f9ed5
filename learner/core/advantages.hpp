#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learner/api/settings.hpp"

namespace swage::learner {

/// Generalised advantage estimation for one trajectory (Schulman et al., arXiv 1506.02438, eq. 16):
/// delta_k = r_k + gamma·V_{k+1} − V_k, A_k = delta_k + gamma·lambda·A_{k+1}. rewards, values: [n],
/// one per policy token. boot: V_{n+1}, 0 if the trajectory ended there. Returns A, [n].
std::vector<double> generalised_advantages(std::span<const double> rewards,
                                           std::span<const double> values, double boot,
                                           double gamma, double lambda);

/// What a trajectory brings to the estimate, by policy token.
struct Episode {
  std::vector<double> rewards;               ///< [n]
  std::vector<double> values;                ///< [n]; unused by `group`
  std::vector<std::uint32_t> turn_of_token;  ///< [n], ascending; used by `turn` only
  std::uint64_t group = 0;                   ///< used by `group` only
};

struct Estimate {
  std::vector<double> advantages;        ///< [n], not whitened
  std::vector<double> returns;           ///< [n]; empty for `group`
  std::vector<std::uint8_t> value_mask;  ///< [n], 1 where the critic is trained
};

/// Advantages and returns of a whole batch by `learning.advantage` (formulas: learner/README.md):
/// fixed     A = A(lambda_policy), R = A(lambda_value) + V with both lambdas the policy's
/// decoupled A = A(lambda_policy), R = A(lambda_value) + V
/// adaptive  lambda_policy = clamp(1 − 1/max(alpha·n, 1), 0, 1), lambda_value = 1
/// turn      one step per turn, V at its first policy token, rewards summed, A shared
/// group     A = (sum r − mean)/(std + 1e-6) over the group; groups of one give 0
/// Episodes with n = 0 give empty vectors and touch nobody else.
std::vector<Estimate> estimate_advantages(std::span<const Episode> episodes,
                                          const Learning& learning);

struct Whitening {
  bool applied = false;  ///< false: fewer than two tokens, nothing was changed
  double mean = 0;
  double variance = 0;  ///< unbiased
};

/// A := (A − mean)·rsqrt(var + 1e-8) over all policy tokens of the global batch.
Whitening whiten(std::span<Estimate> estimates);

/// 1 − var(R − V)/(var(R) + 1e-5), unbiased, over all policy tokens. Nothing when var(R) < 1e-8,
/// fewer than two tokens, or `most_rewards_equal`.
std::optional<double> explained_variance(std::span<const double> returns,
                                         std::span<const double> values, bool most_rewards_equal);

/// Whether more than half of these rewards are one and the same number.
bool most_equal(std::span<const double> rewards);

}  // namespace swage::learner
