#include "learner/api/settings.hpp"

#include <array>
#include <utility>

namespace swage::learner {
namespace {

template <class Enum, std::size_t N>
using Names = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Names<Preset, 2> kPresets{
    {{Preset::cluster, "Cluster"}, {Preset::one_machine, "OneMachine"}}};
constexpr Names<AdvantageKind, 5> kAdvantages{{{AdvantageKind::fixed, "fixed"},
                                               {AdvantageKind::decoupled, "decoupled"},
                                               {AdvantageKind::adaptive, "adaptive"},
                                               {AdvantageKind::turn, "turn"},
                                               {AdvantageKind::group, "group"}}};
constexpr Names<Aggregation, 5> kAggregations{
    {{Aggregation::trajectory_mean, "trajectory-mean"},
     {Aggregation::token_mean, "token-mean"},
     {Aggregation::token_sum, "token-sum"},
     {Aggregation::trajectory_sum, "trajectory-sum"},
     {Aggregation::trajectory_sum_norm, "trajectory-sum-norm"}}};
constexpr Names<Overlong, 3> kOverlongs{
    {{Overlong::keep, "keep"}, {Overlong::soft, "soft"}, {Overlong::mask, "mask"}}};
constexpr Names<RewardKind, 2> kRewards{
    {{RewardKind::paper, "paper"}, {RewardKind::speedup, "speedup"}}};
constexpr Names<CollectActor, 2> kActors{
    {{CollectActor::policy, "Policy"}, {CollectActor::teacher, "Teacher"}}};

template <class Enum, std::size_t N>
std::string_view name_of(const Names<Enum, N>& names, Enum value) {
  for (const auto& [candidate, name] : names)
    if (candidate == value) return name;
  return {};
}

template <class Enum, std::size_t N>
std::optional<Enum> value_of(const Names<Enum, N>& names, std::string_view name) {
  for (const auto& [value, candidate] : names)
    if (candidate == name) return value;
  return std::nullopt;
}

Settings one_machine_settings() {
  Settings s;
  s.preset = Preset::one_machine;
  s.stages.single_turn = {.enabled = false, .steps = 0, .context_tokens = 1'024};
  s.stages.collect = {.enabled = true, .trajectories = 64, .actor = CollectActor::teacher};
  s.stages.rft = {.enabled = true,
                  .epochs = 20,
                  .learning_rate = 3e-3,
                  .min_kept = 8,
                  .trajectories_per_step = 2,
                  .checkpoint_every_epochs = 5};
  s.stages.critic = {
      .enabled = true, .max_passes = 5, .trajectories_per_step = 4, .hold_out = false};
  s.stages.agentic = {.enabled = true, .steps = 8, .turns = 10, .context_tokens = 1'024};
  s.learning.batch = 16;
  s.learning.group_size = 2;
  s.learning.epochs = 2;
  s.learning.actor_learning_rate = 2e-4;
  s.learning.critic_learning_rate = 1e-3;
  s.learning.warmup_steps = 1;
  s.learning.temperature = 0.6;
  s.learning.staleness = 0;
  s.learning.checkpoint_every_steps = 1;
  s.learning.lambda_policy = 1.0;
  s.learning.lambda_value = 1.0;
  s.learning.overlong_tokens = 256;
  s.learning.micro_batch_tokens = 4'096;
  s.learning.critic_unfit_guard = false;
  s.learning.low_entropy_alert = false;
  return s;
}

}  // namespace

Settings preset_settings(Preset preset) {
  return preset == Preset::one_machine ? one_machine_settings() : Settings{};
}

std::string_view to_string(Preset value) { return name_of(kPresets, value); }
std::string_view to_string(AdvantageKind value) { return name_of(kAdvantages, value); }
std::string_view to_string(Aggregation value) { return name_of(kAggregations, value); }
std::string_view to_string(Overlong value) { return name_of(kOverlongs, value); }
std::string_view to_string(RewardKind value) { return name_of(kRewards, value); }
std::string_view to_string(CollectActor value) { return name_of(kActors, value); }
std::optional<Preset> preset_from(std::string_view name) { return value_of(kPresets, name); }
std::optional<AdvantageKind> advantage_from(std::string_view name) {
  return value_of(kAdvantages, name);
}
std::optional<Aggregation> aggregation_from(std::string_view name) {
  return value_of(kAggregations, name);
}
std::optional<Overlong> overlong_from(std::string_view name) { return value_of(kOverlongs, name); }
std::optional<RewardKind> reward_from(std::string_view name) { return value_of(kRewards, name); }
std::optional<CollectActor> collect_actor_from(std::string_view name) {
  return value_of(kActors, name);
}

}  // namespace swage::learner
