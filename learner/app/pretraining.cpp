#include <algorithm>
#include <numeric>

#include "common/log/log.hpp"
#include "learner/app/stages.hpp"
#include "learner/core/ppo.hpp"
#include "learner/core/rft_filter.hpp"

namespace swage::learner {
namespace {

constexpr std::size_t kHoldOutOneIn = 20;
constexpr double kGoodEnough = 0.5;
constexpr double kGain = 0.01;

struct RftSet {
  std::vector<Sequence> sequences;
  RftCounts counts;
};

RftSet filtered(const std::vector<Trajectory>& trajectories) {
  RftSet set;
  for (const auto& t : trajectories) {
    const auto verdict = rft_filter(t);
    set.counts.add(verdict);
    if (verdict == RftVerdict::keep) set.sequences.push_back(sequence_of(t));
  }
  return set;
}

template <class T>
std::vector<T> picked(const std::vector<T>& from, std::span<const std::size_t> indices) {
  std::vector<T> out;
  for (const auto index : indices) out.push_back(from[index]);
  return out;
}

/// The members of optimiser step `step` of an epoch in this order.
std::span<const std::size_t> slice(const std::vector<std::size_t>& order, std::uint64_t step,
                                   std::uint64_t size) {
  const auto begin = static_cast<std::size_t>(step * size);
  return std::span(order).subspan(begin, std::min<std::size_t>(size, order.size() - begin));
}

std::uint64_t steps_for(std::size_t count, std::uint32_t size) { return (count + size - 1) / size; }

StepRow row_of(const RunState& state, const StepFigures& figures, std::size_t trajectories,
               double rate, Duration took) {
  StepRow row;
  row.stage = to_string(state.slot.stage);
  row.step = state.step;
  row.weight_version = state.weight_version;
  row.trajectories = trajectories;
  row.tokens = figures.tokens;
  row.learning_rate = rate;
  row.skipped = figures.skipped;
  row.wall_seconds = std::chrono::duration<double>(took).count();
  return row;
}

/// Trajectories with sampled tokens, and the rewards that the critic learns from.
struct CriticSet {
  std::vector<const Trajectory*> trajectories;
  std::vector<Sequence> sequences;
  std::vector<std::size_t> training, held_out;  ///< indices
};

CriticSet critic_set(const std::vector<Trajectory>& all, const CriticStage& stage,
                     std::uint64_t seed) {
  CriticSet set;
  for (const auto& t : all) {
    auto sequence = sequence_of(t);
    if (sequence.positions.empty()) continue;
    set.trajectories.push_back(&t);
    set.sequences.push_back(std::move(sequence));
  }
  const auto order = shuffled(set.sequences.size(), seed, Stage::critic, ~std::uint32_t{0});
  const std::size_t held = stage.hold_out ? (order.size() + kHoldOutOneIn - 1) / kHoldOutOneIn : 0;
  set.held_out.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(held));
  set.training.assign(order.begin() + static_cast<std::ptrdiff_t>(held), order.end());
  if (!stage.hold_out) set.held_out = set.training;
  return set;
}

/// V, the fixed returns of one pass, and how well V explains them where it is judged.
struct PassStart {
  std::vector<std::vector<double>> returns;
  std::optional<double> explained;
  std::optional<double> monte_carlo;  ///< the same, of the Monte-Carlo return
};

PassStart begin_pass(Trainer& trainer, const CriticSet& set, const Settings& settings) {
  const auto values = trainer.values(set.sequences);
  PassStart start;
  start.returns = critic_returns(set.trajectories, values, settings.learning,
                                 settings.stages.agentic.context_tokens);
  start.explained =
      explained_variance_of(picked(start.returns, set.held_out), picked(values, set.held_out));
  const auto whole = monte_carlo_returns(set.trajectories, settings.learning,
                                         settings.stages.agentic.context_tokens);
  start.monte_carlo =
      explained_variance_of(picked(whole, set.held_out), picked(values, set.held_out));
  return start;
}

/// Explained variance ≥ 0.5, or less than 0.01 gained in the last three passes.
bool enough(const std::vector<double>& history) {
  if (history.empty()) return false;
  if (history.back() >= kGoodEnough) return true;
  return history.size() > 3 && history.back() - history[history.size() - 4] < kGain;
}

StepFigures critic_update(Trainer& trainer, const CriticSet& set,
                          const std::vector<std::vector<double>>& returns,
                          std::span<const std::size_t> members, const Settings& settings,
                          double rate) {
  const auto sequences = picked(set.sequences, members);
  const auto weights = spread_weights(sequences, Aggregation::trajectory_mean,
                                      settings.stages.agentic.context_tokens);
  std::vector<CriticTargets> targets;
  for (std::size_t i = 0; i < members.size(); ++i)
    targets.push_back({returns[members[i]], {}, weights[i]});
  return trainer.critic_step(sequences, targets, rate);
}

enum class PassEnd { trained, enough, stopping };

/// One pass; `enough` when there was nothing left to do.
Task<PassEnd> critic_pass(StageHost& host, const CriticSet& set, std::uint64_t pass,
                          StopSource& stop) {
  auto& state = host.state();
  const auto& settings = host.settings();
  const auto& stage = settings.stages.critic;
  const auto steps = steps_for(set.training.size(), stage.trajectories_per_step);
  auto start_job = [&] { return begin_pass(host.trainer(), set, settings); };
  const auto start = co_await host.compute(std::move(start_job));
  if (pass > 0) {
    state.critic_history.push_back(start.explained.value_or(0.0));
    state.critic_monte_carlo = start.monte_carlo;
  }
  if (pass >= stage.max_passes || (stage.hold_out && enough(state.critic_history))) {
    co_return PassEnd::enough;
  }
  host.set_dirty(true);
  const auto order = shuffled(set.training.size(), host.seed(), Stage::critic, pass);
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (!co_await host.running(stop)) co_return PassEnd::stopping;
    std::vector<std::size_t> members;
    for (const auto index : slice(order, step, stage.trajectories_per_step))
      members.push_back(set.training[index]);
    const double rate = warmup_constant(settings.learning.critic_learning_rate, pass * steps + step,
                                        settings.learning.warmup_steps);
    const auto began = host.clock().now();
    auto job = [&] {
      return critic_update(host.trainer(), set, start.returns, members, settings, rate);
    };
    const auto figures = co_await host.compute(std::move(job));
    state.step = pass * steps + step + 1;
    auto row = row_of(state, figures, members.size(), rate, host.clock().now() - began);
    row.value_loss = figures.loss;
    row.grad_norm_critic = figures.grad_norm;
    row.explained_variance = start.explained;
    host.metrics().phase("critic", row.wall_seconds);
    if (!co_await host.row(std::move(row), stop)) co_return PassEnd::stopping;
  }
  host.set_progress("critic pass " + std::to_string(pass + 1) + "/" +
                    std::to_string(stage.max_passes));
  host.set_dirty(false);
  co_return PassEnd::trained;
}

}  // namespace

Task<bool> run_rft(StageHost& host, StopSource& stop) {
  auto& state = host.state();
  const auto& settings = host.settings();
  const auto& stage = settings.stages.rft;
  const auto trajectories = co_await collected(host);
  const auto set = filtered(trajectories);
  const auto& c = set.counts;
  log_info("RFT filter", {{"kept", c.kept},
                          {"not_rewarded", c.not_rewarded},
                          {"schema_invalid", c.schema_invalid},
                          {"redundant_loop", c.redundant_loop},
                          {"empty", c.empty}});
  if (c.kept < stage.min_kept) {
    host.set_condition({"RftStarved", true, "TooFewKept",
                        std::to_string(c.kept) + " trajectories passed the filter, " +
                            std::to_string(stage.min_kept) + " are wanted"});
    host.pause("RftStarved", std::to_string(c.kept) + " of " + std::to_string(trajectories.size()) +
                                 " trajectories passed the filter; resume to train on these, or "
                                 "lower stages.rft.minKept, or collect more");
    if (!co_await host.running(stop)) co_return false;
  }
  const auto per_epoch = steps_for(set.sequences.size(), stage.trajectories_per_step);
  const auto total = per_epoch * stage.epochs;
  host.set_target(0, total);
  host.set_training(true);
  while (state.step < total) {
    if (!co_await host.running(stop)) co_return false;
    const auto epoch = state.step / per_epoch;
    const auto order = shuffled(set.sequences.size(), host.seed(), Stage::rft, epoch);
    const auto sequences =
        picked(set.sequences, slice(order, state.step % per_epoch, stage.trajectories_per_step));
    const auto weights =
        spread_weights(sequences, Aggregation::token_mean, settings.stages.agentic.context_tokens);
    const double rate =
        warmup_cosine(stage.learning_rate, state.step, settings.learning.warmup_steps, total);
    const auto began = host.clock().now();
    auto job = [&] { return host.trainer().imitation_step(sequences, weights, rate); };
    const auto figures = co_await host.compute(std::move(job));
    ++state.step;
    auto row = row_of(state, figures, sequences.size(), rate, host.clock().now() - began);
    row.policy_loss = figures.loss;
    row.grad_norm_actor = figures.grad_norm;
    if (figures.tokens > 0) row.entropy = figures.entropy_sum / static_cast<double>(figures.tokens);
    host.metrics().phase("imitation", row.wall_seconds);
    host.set_progress("rft epoch " + std::to_string(epoch + 1) + "/" +
                      std::to_string(stage.epochs) + " loss " + std::to_string(figures.loss));
    if (!co_await host.row(std::move(row), stop)) co_return false;
    const bool due = state.step % (per_epoch * stage.checkpoint_every_epochs) == 0;
    if (due && state.step < total && !co_await host.checkpoint(false, stop)) co_return false;
  }
  host.set_condition({"RftStarved", false, "Trained", ""});
  const bool published = co_await host.publish(state.step, stop);
  host.set_training(false);
  co_return published;
}

Task<bool> run_critic(StageHost& host, StopSource& stop) {
  auto& state = host.state();
  const auto& settings = host.settings();
  const auto& stage = settings.stages.critic;
  const auto trajectories = co_await collected(host);
  const auto set = critic_set(trajectories, stage, host.seed());
  const auto steps = steps_for(set.training.size(), stage.trajectories_per_step);
  host.set_target(0, steps * stage.max_passes);
  if (set.training.empty()) co_return true;
  host.set_training(true);
  // Only the start of a pass is a state to continue from: its returns are fixed there.
  while (true) {
    const auto pass = state.step / steps;
    const auto at_start = state;
    const auto end = co_await critic_pass(host, set, pass, stop);
    if (end == PassEnd::stopping) {
      state = at_start;
      co_return false;
    }
    if (end == PassEnd::enough) break;
    if (!co_await host.checkpoint(false, stop)) co_return false;
  }
  host.set_training(false);
  const double explained = state.critic_history.empty() ? 0.0 : state.critic_history.back();
  const auto whole = state.critic_monte_carlo;
  log_info("critic pretraining done",
           {{"explained_variance", explained},
            {"explained_variance_monte_carlo", whole ? std::to_string(*whole) : "not measurable"}});
  if (settings.learning.critic_unfit_guard && whole && *whole <= 0) {
    const auto text = "explained variance of the Monte-Carlo return " + std::to_string(*whole);
    host.set_condition({"CriticUnfit", true, "NothingExplained", text});
    host.pause("CriticUnfit", "the critic explains nothing of what the trajectories earned (" +
                                  text + ", of its own targets " + std::to_string(explained) +
                                  "); resume to go on all the same");
    if (!co_await host.running(stop)) co_return false;
  }
  co_return true;
}

}  // namespace swage::learner
