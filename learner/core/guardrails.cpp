#include "learner/core/guardrails.hpp"

#include <algorithm>

#include "common/base/check.hpp"

namespace swage::learner {
namespace {

/// A signal's value on a scale on which more is worse.
struct Thresholds {
  double alert;
  double act;
  double clear;  ///< at or below: clear
  GuardAction action;
};

constexpr std::size_t kWindow = 5;
constexpr std::uint32_t kActs = 3;
constexpr std::uint32_t kClearSteps = 5;
constexpr std::uint32_t kCooldown = 10;
constexpr std::uint32_t kRollbacks = 3;
constexpr std::uint64_t kAverageFrom = 10;
constexpr double kAverageWeight = 0.1;
constexpr double kLowEntropy = 0.2;
// Nats a token. Below it no rise is a spike: fine-tuning on few texts leaves a policy so sure that
// its way back to exploring multiplies its entropy (docs/decisions/0007).
constexpr double kLeastSpike = 0.25;

// Explained variance is watched as its negative.
constexpr std::array<Thresholds, kSignals> kTable{{
    {0.3, 0.75, 0.2, GuardAction::rollback},    // reward_collapse
    {1.5, 2.5, 1.3, GuardAction::rollback},     // entropy_spike
    {0.01, 0.05, 0.005, GuardAction::pause},    // behaviour_mismatch
    {-0.1, 0.0, -0.2, GuardAction::pause},      // critic_unfit
    {0.15, 0.35, 0.10, GuardAction::rollback},  // length_explosion
    {0.1, 0.3, 0.05, GuardAction::rollback},    // repetition
    {0.5, 0.5, 0.25, GuardAction::pause},       // non_finite: 0 or 1
    {0.2, 0.5, 0.1, GuardAction::pause},        // infrastructure
}};

constexpr std::array<std::string_view, kSignals> kNames{
    "RewardCollapse",  "EntropySpike", "BehaviourMismatch", "CriticUnfit",
    "LengthExplosion", "Repetition",   "NonFinite",         "Infrastructure"};

std::size_t index_of(Signal signal) { return static_cast<std::size_t>(signal); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::optional<double> reward_drop(Guardrails::State& state, const GuardInput& input) {
  if (!input.reward_mean) return std::nullopt;
  const double mean = *input.reward_mean;
  auto& average = state.reward_average;
  average = average ? *average + kAverageWeight * (mean - *average) : mean;
  if (input.step < kAverageFrom) return std::nullopt;
  state.best_average = std::max(state.best_average.value_or(*average), *average);
  return *state.best_average - mean;
}

std::optional<double> entropy_ratio(Guardrails::State& state, const GuardInput& input) {
  if (!input.entropy) return std::nullopt;
  if (state.first_entropies.size() < kWindow) {
    state.first_entropies.push_back(*input.entropy);
    return std::nullopt;
  }
  const double usual = median(state.first_entropies);
  if (usual <= 0) return std::nullopt;
  const double ratio = *input.entropy / usual;
  return *input.entropy < kLeastSpike ? std::min(ratio, 1.0) : ratio;
}

}  // namespace

std::string_view to_string(Signal signal) { return kNames[index_of(signal)]; }

std::vector<GuardEvent> Guardrails::observe(const GuardInput& input) {
  std::array<std::optional<double>, kSignals> values;
  values[index_of(Signal::reward_collapse)] = reward_drop(state_, input);
  values[index_of(Signal::entropy_spike)] = entropy_ratio(state_, input);
  values[index_of(Signal::behaviour_mismatch)] = input.behaviour_k3;
  if (switches_.critic_unfit && input.explained_variance)
    values[index_of(Signal::critic_unfit)] = -*input.explained_variance;
  values[index_of(Signal::length_explosion)] = input.truncated_share;
  values[index_of(Signal::repetition)] = input.repetition_share;
  values[index_of(Signal::non_finite)] = input.skipped ? 1.0 : 0.0;
  values[index_of(Signal::infrastructure)] = input.infrastructure_share;

  if (state_.cooldown > 0) --state_.cooldown;
  std::vector<GuardEvent> events;
  for (std::size_t i = 0; i < kSignals; ++i) {
    const auto& measured = values[i];
    if (!measured) continue;
    const auto signal = static_cast<Signal>(i);
    const auto& limits = kTable[i];
    const double value = *measured;
    auto& seen = state_.signals[i];
    const bool low =
        signal == Signal::entropy_spike && switches_.low_entropy && value < kLowEntropy;
    const bool is_alert = low || value > limits.alert;
    if (is_alert && !seen.alerting) {
      seen.alerting = true;
      events.push_back({signal, GuardEvent::Kind::alert, limits.action, value});
    }
    seen.clear_steps = !low && value <= limits.clear ? seen.clear_steps + 1 : 0;
    if (seen.alerting && seen.clear_steps >= kClearSteps) {
      seen.alerting = false;
      events.push_back({signal, GuardEvent::Kind::cleared, limits.action, value});
    }
    seen.acts.push_back(value > limits.act ? 1 : 0);
    if (seen.acts.size() > kWindow) seen.acts.erase(seen.acts.begin());
    const auto acts = static_cast<std::uint32_t>(std::count(seen.acts.begin(), seen.acts.end(), 1));
    if (acts < kActs || state_.cooldown > 0) continue;
    auto action = limits.action;
    if (action == GuardAction::rollback && ++state_.rollbacks >= kRollbacks)
      action = GuardAction::pause;
    state_.cooldown = kCooldown;
    seen.acts.clear();
    events.push_back({signal, GuardEvent::Kind::action, action, value});
  }
  return events;
}

void Guardrails::enter_stage() {
  const auto rollbacks = state_.rollbacks;
  state_ = State{};
  state_.rollbacks = rollbacks;
}

bool Guardrails::alerting(Signal signal) const { return state_.signals[index_of(signal)].alerting; }

bool Guardrails::any_alert() const {
  return std::any_of(state_.signals.begin(), state_.signals.end(),
                     [](const SignalState& s) { return s.alerting; });
}

}  // namespace swage::learner
