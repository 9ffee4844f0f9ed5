#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "learner/api/settings.hpp"
#include "learner/api/trainer.hpp"
#include "learner/api/trajectory.hpp"

namespace swage::learner {

/// The tokens and policy positions of a trajectory, as the trainer takes them.
Sequence sequence_of(const Trajectory& trajectory);

/// What a batch looks like before anything is computed. Trajectories with n = 0 count in none.
struct BatchFigures {
  std::uint64_t trajectories = 0;  ///< that count in the figures below
  std::uint64_t tokens = 0;        ///< all tokens, of those
  std::uint64_t policy_tokens = 0;
  double reward_mean = 0;
  double length_mean = 0;  ///< tokens
  double turns_mean = 0;
  std::optional<double> truncated_share;  ///< absent: no trajectory has n > 0
  double repetition_share = 0;            ///< with a redundant loop or a window seen five times
};
/// Overlong::mask leaves truncated trajectories out of everything but truncated_share, which is of
/// all with n > 0.
BatchFigures batch_figures(std::span<const Trajectory* const> batch, const Learning& learning);

/// Everything of a PPO step that needs no gradient, gathered on the policy tokens.
struct PpoTargets {
  std::vector<ActorTargets> actor;    ///< one for each sequence
  std::vector<CriticTargets> critic;  ///< one for each sequence; empty with `group`
  std::optional<double> explained_variance;
  bool whitened = false;  ///< false also where it was asked for and there are under two tokens
};

/// Whether a trajectory of a batch takes part in losses: sampled tokens, use ppo after admission,
/// not masked as overlong.
bool takes_part(const Trajectory& trajectory, Use use, const Learning& learning);

/// trajectories: those that take part, in order; values: V at their policy tokens, [n] each (empty
/// vectors with `group`). context: of the stage. version: of the current weights, for
/// ActorTargets::current; 0: every token counts.
PpoTargets ppo_targets(std::span<const Trajectory* const> trajectories,
                       std::span<const std::vector<double>> values, const Learning& learning,
                       std::uint64_t context, std::uint64_t version = 0);

/// Targets of one pass of critic pretraining: R = V + A(gamma 1, lambda_value), no value clip,
/// trajectory-mean over the step's trajectories (the caller weighs them per optimiser step).
std::vector<std::vector<double>> critic_returns(std::span<const Trajectory* const> trajectories,
                                                std::span<const std::vector<double>> values,
                                                const Learning& learning, std::uint64_t context);

/// The Monte-Carlo return at each policy token: the sum of the rewards from there on.
std::vector<std::vector<double>> monte_carlo_returns(
    std::span<const Trajectory* const> trajectories, const Learning& learning,
    std::uint64_t context);

/// Explained variance of values against returns over all policy tokens of these trajectories.
std::optional<double> explained_variance_of(std::span<const std::vector<double>> returns,
                                            std::span<const std::vector<double>> values);

/// One weight vector for each sequence: `token_weights` spread over its tokens.
std::vector<std::vector<double>> spread_weights(std::span<const Sequence> sequences,
                                                Aggregation mode, std::uint64_t context);

}  // namespace swage::learner
