#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace swage::learner {

/// Which column of defaults fills what a TrainingRun leaves out (`spec.preset`).
enum class Preset { cluster, one_machine };

/// How advantages are made; formulas: core/advantages.hpp.
enum class AdvantageKind { fixed, decoupled, adaptive, turn, group };

/// Weight of one policy token in a loss; core/aggregation.hpp.
enum class Aggregation {
  trajectory_mean,      ///< 1/(S·n_i)
  token_mean,           ///< 1/N
  token_sum,            ///< 1
  trajectory_sum,       ///< 1/S
  trajectory_sum_norm,  ///< 1/(S·context)
};

/// What truncation does to a trajectory's reward.
enum class Overlong {
  keep,  ///< nothing: its verdict is real
  soft,  ///< a linear penalty over the last `overlong_tokens` of the context
  mask,  ///< truncated trajectories are left out of losses and statistics
};

enum class RewardKind {
  paper,    ///< -1, 1, 2 or 3
  speedup,  ///< t_compile / t (median of the rounds) if right, else -1
};

enum class CollectActor { policy, teacher };

struct SingleTurnStage {
  bool enabled = true;
  std::uint64_t steps = 50;
  std::uint32_t context_tokens = 32'768;
  bool operator==(const SingleTurnStage&) const = default;
};

struct CollectStage {
  bool enabled = true;
  std::uint64_t trajectories = 2'048;
  CollectActor actor = CollectActor::policy;
  bool operator==(const CollectStage&) const = default;
};

struct RftStage {
  bool enabled = true;
  std::uint32_t epochs = 2;
  double learning_rate = 5e-6;  ///< cosine to 0 over the stage
  std::uint64_t min_kept = 64;  ///< fewer trajectories after the filter: pause, RftStarved
  std::uint32_t trajectories_per_step = 64;
  std::uint32_t checkpoint_every_epochs = 1;
  bool operator==(const RftStage&) const = default;
};

struct CriticStage {
  bool enabled = true;
  std::uint32_t max_passes = 20;
  std::uint32_t trajectories_per_step = 64;
  bool hold_out = true;  ///< 5 % hold-out and early stopping; else all passes, on everything
  bool operator==(const CriticStage&) const = default;
};

struct AgenticStage {
  bool enabled = true;
  std::uint64_t steps = 150;
  std::uint32_t turns = 150;
  std::uint32_t context_tokens = 131'072;
  bool operator==(const AgenticStage&) const = default;
};

struct Stages {
  SingleTurnStage single_turn;
  CollectStage collect;
  RftStage rft;
  CriticStage critic;
  AgenticStage agentic;
  bool operator==(const Stages&) const = default;
};

struct Learning {
  std::uint32_t batch = 1'024;  ///< trajectories of one PPO step
  std::uint32_t group_size = 8;
  std::uint32_t epochs = 1;  ///< passes over one batch
  double actor_learning_rate = 3e-6;
  double critic_learning_rate = 6e-6;
  std::uint32_t warmup_steps = 5;
  double temperature = 1.0;     ///< tau, of sampling and of the trainer's log-probabilities, > 0
  std::uint32_t staleness = 1;  ///< eta, optimiser steps
  std::uint32_t checkpoint_every_steps = 5;
  std::uint32_t straggler_wait_minutes = 30;  ///< then a group that blocks a batch is cancelled
  double gamma = 1.0;
  double lambda_policy = 0.95;
  double lambda_value = 0.95;
  double adaptive_alpha = 0.05;
  double clip_low = 0.2;
  double clip_high = 0.28;
  double dual_clip = 3.0;   ///< c; 0 is off
  double value_clip = 0.5;  ///< e; 0 is off
  bool whiten = true;
  AdvantageKind advantage = AdvantageKind::fixed;
  Aggregation aggregation = Aggregation::trajectory_mean;
  Overlong overlong = Overlong::keep;
  std::uint32_t overlong_tokens = 4'096;  ///< L_c of `soft`
  bool deterministic = false;
  double weight_decay = 0.01;  ///< not on norms and biases
  double max_grad_norm = 1.0;
  std::uint32_t micro_batch_tokens = 32'768;
  bool critic_unfit_guard = true;  ///< guardrail and stage check on explained variance
  bool low_entropy_alert = true;   ///< lower side of EntropySpike
  bool operator==(const Learning&) const = default;
};

/// What one run does. Made by `preset_settings`, then changed by what the user gave.
struct Settings {
  Preset preset = Preset::cluster;
  Stages stages;
  Learning learning;
  RewardKind reward = RewardKind::paper;
  std::uint64_t evaluation_rollouts = 64;  ///< of each evaluation round; 0 leaves the rounds out
  bool operator==(const Settings&) const = default;
};

/// cluster: the defaults above; one_machine: with what differs on one machine (settings.cpp).
Settings preset_settings(Preset preset);

/// Names as a TrainingRun writes them, and back; nothing for an unknown name.
std::string_view to_string(Preset value);         // Cluster, OneMachine
std::string_view to_string(AdvantageKind value);  // fixed, decoupled, …
std::string_view to_string(Aggregation value);    // trajectory-mean, …
std::string_view to_string(Overlong value);       // keep, soft, mask
std::string_view to_string(RewardKind value);     // paper, speedup
std::string_view to_string(CollectActor value);   // Policy, Teacher
std::optional<Preset> preset_from(std::string_view name);
std::optional<AdvantageKind> advantage_from(std::string_view name);
std::optional<Aggregation> aggregation_from(std::string_view name);
std::optional<Overlong> overlong_from(std::string_view name);
std::optional<RewardKind> reward_from(std::string_view name);
std::optional<CollectActor> collect_actor_from(std::string_view name);

}  // namespace swage::learner
