#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swage::controller {

/// Where a run is. Evaluations are two stages here: after RFT, and at the end.
enum class Stage { none, single_turn, collect, rft, critic, agentic, eval1, eval2, done };

/// `collect`, `eval1` …: the name in rollout ids, events and metrics.
const char* stage_name(Stage stage);
/// Stage::none for an unknown name.
Stage stage_named(const std::string& name);

/// Stages that train by PPO on rollouts of their own.
constexpr bool is_ppo(Stage stage) {
  return stage == Stage::single_turn || stage == Stage::agentic;
}
constexpr bool is_evaluation(Stage stage) { return stage == Stage::eval1 || stage == Stage::eval2; }

struct LearnerPause {
  std::string id;
  std::string reason;
  std::string message;
};
struct LearnerCondition {
  std::string type;
  bool status = false;
  std::string reason;
  std::string message;
};

/// The learner's newest status, as proto LearnerStatus documents each field.
struct LearnerStatus {
  Stage stage = Stage::none;
  std::uint64_t step = 0;
  std::uint64_t steps_total = 0;
  std::uint64_t weight_version = 0;
  std::uint64_t target = 0;
  std::uint64_t accepted = 0;
  std::uint64_t ready = 0;
  std::uint64_t consumed = 0;
  std::uint32_t staleness = 0;
  std::uint32_t batch = 0;
  std::uint32_t group_size = 1;
  std::uint64_t next_group = 0;
  std::optional<LearnerPause> pause;
  std::vector<LearnerCondition> conditions;
  std::vector<std::uint64_t> cancel_groups;
  bool training = false;
  std::optional<double> reward_mean;
  std::optional<double> reward_after_rft;
  std::optional<double> reward_final;
  std::uint64_t trajectories = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t rejected = 0;
  std::uint64_t stage_serial = 0;
  std::string progress;
};

}  // namespace swage::controller
