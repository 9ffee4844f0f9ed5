#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "learner/api/settings.hpp"
#include "learner/api/trajectory.hpp"

namespace swage::learner {

/// One station of a run.
struct StageSlot {
  Stage stage = Stage::done;
  std::uint32_t round = 0;  ///< evaluation: 1 after RFT, 2 at the end; else 0
  bool operator==(const StageSlot&) const = default;
};

/// single_turn → collect → rft → evaluation 1 → critic → agentic → evaluation 2 → done, without
/// what is switched off. Always ends with done.
std::vector<StageSlot> stage_plan(const Settings& settings);

/// Name of a slot in files: `rft`, `evaluation1`, …
std::string slot_name(const StageSlot& slot);

/// Whether the stage is a PPO stage: it consumes trajectories as they come.
bool is_ppo(Stage stage);

/// Most tokens of a trajectory of any stage.
std::uint64_t largest_context(const Settings& settings);

/// What is wrong with these settings: `field: reason, remedy`; empty if nothing.
std::string settings_problem(const Settings& settings);

/// Learning rate of optimiser step `step` (from 0): linear warm-up, then constant.
double warmup_constant(double rate, std::uint64_t step, std::uint64_t warmup);
/// Linear warm-up, then half a cosine to 0 at `total`.
double warmup_cosine(double rate, std::uint64_t step, std::uint64_t warmup, std::uint64_t total);

/// A permutation of 0…count−1 that depends on (seed, stage, epoch) only.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, Stage stage,
                                  std::uint64_t epoch);

}  // namespace swage::learner
