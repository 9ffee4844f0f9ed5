#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "learner/api/status.hpp"
#include "learner/core/guardrails.hpp"
#include "learner/core/stage_plan.hpp"

namespace swage::learner {

/// What the mathematics of PPO had to pass over since the run began.
struct PassedOver {
  std::uint64_t empty_steps = 0;       ///< no trajectory of the batch took part
  std::uint64_t unwhitened_steps = 0;  ///< fewer than two policy tokens
  std::uint64_t missing_logprobs = 0;  ///< policy tokens whose ratio was taken to be 1
};

/// Everything a checkpoint must hold beside the weights, so that a resume does what an unbroken run
/// would have done. Data order follows from (seed, stage, epoch), so there is no generator's state.
struct RunState {
  StageSlot slot;
  std::uint64_t serial = 1;  ///< rises with each change of stage
  std::uint64_t step = 0;    ///< optimiser steps done in this stage
  std::uint64_t weight_version = 0;
  /// The weights are newer than weight_version: a guardrail held them back, and the user has not
  /// resumed the run.
  bool unpublished = false;
  std::optional<Pause> pause;  ///< what the run waits for; a full disk is no part of it
  std::optional<double> reward_mean, reward_after_rft, reward_final;
  std::vector<double> critic_history;  ///< explained variance after each pass
  /// The same after the last pass, of the Monte-Carlo return; absent where that does not vary.
  std::optional<double> critic_monte_carlo;
  Guardrails::State guard;
  PassedOver passed_over;
  std::vector<std::uint64_t> cancelled_groups;  ///< of this stage, for they never filled
  std::uint64_t csv_bytes = 0;                  ///< length of steps.csv
  std::uint64_t log_next = 1;                   ///< first log frame that this state has not seen
};

/// Whose state it is: a checkpoint of another run or model is refused.
struct RunIdentity {
  std::string run_uid;
  std::string config_digest;
  std::string tokenizer_digest;
};

}  // namespace swage::learner
