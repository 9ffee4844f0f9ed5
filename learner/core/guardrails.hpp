#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

namespace swage::learner {

enum class Signal {
  reward_collapse,     ///< mean reward below its best moving average
  entropy_spike,       ///< entropy against the median of the stage's first five steps
  behaviour_mismatch,  ///< k3 between trainer and engine on tokens of the current version
  critic_unfit,        ///< explained variance
  length_explosion,    ///< share of truncated trajectories
  repetition,          ///< share with a redundant loop or a window seen five times
  non_finite,          ///< an optimiser step was skipped
  infrastructure,      ///< share of attempts lost
};
inline constexpr std::size_t kSignals = 8;
/// Name of the condition and of the metric's label: `RewardCollapse`, …
std::string_view to_string(Signal signal);

enum class GuardAction { pause, rollback };

/// What one PPO step showed. Absent: not measured, and that signal sees nothing this step.
struct GuardInput {
  std::uint64_t step = 0;  ///< of the stage, from 1
  std::optional<double> reward_mean;
  std::optional<double> entropy;
  std::optional<double> behaviour_k3;
  std::optional<double> explained_variance;
  std::optional<double> truncated_share;
  std::optional<double> repetition_share;
  bool skipped = false;
  std::optional<double> infrastructure_share;
};

struct GuardSwitches {
  bool critic_unfit = true;
  bool low_entropy = true;
};

struct GuardEvent {
  Signal signal = Signal::non_finite;
  enum class Kind { alert, cleared, action } kind = Kind::alert;
  GuardAction action = GuardAction::pause;  ///< asked for, if kind is action
  double value = 0;                         ///< the signal's, when it happened
};

/// Watches one PPO stage. Alert: at once. Action: the act value in 3 of the last 5 steps. Clear: 5
/// steps in succession beyond the clear value. After an action none follows for 10 steps; the third
/// rollback pauses instead. Pure; its whole state can be taken out and put back (checkpoints).
class Guardrails {
 public:
  struct SignalState {
    bool alerting = false;
    std::uint32_t clear_steps = 0;
    std::vector<std::uint8_t> acts;  ///< the last five steps, 1 = act value reached
  };
  struct State {
    std::array<SignalState, kSignals> signals;
    std::optional<double> reward_average;
    std::optional<double> best_average;
    std::vector<double> first_entropies;  ///< at most five
    std::uint32_t cooldown = 0;           ///< steps in which no action may follow
    std::uint32_t rollbacks = 0;
  };

  explicit Guardrails(GuardSwitches switches) : switches_(switches) {}
  Guardrails(GuardSwitches switches, State state) : switches_(switches), state_(std::move(state)) {}

  std::vector<GuardEvent> observe(const GuardInput& input);
  /// A new stage: averages and medians start afresh; alerts end, rollbacks stay counted.
  void enter_stage();

  bool alerting(Signal signal) const;
  bool any_alert() const;
  const State& state() const { return state_; }

 private:
  GuardSwitches switches_;
  State state_;
};

}  // namespace swage::learner
