#include <algorithm>
#include <stdexcept>

#include "common/log/log.hpp"
#include "learner/app/stages.hpp"
#include "learner/app/wait.hpp"
#include "learner/core/ppo.hpp"
#include "learner/core/straggler.hpp"

namespace swage::learner {
namespace {

std::uint64_t steps_of(const Settings& settings, Stage stage) {
  return stage == Stage::single_turn ? settings.stages.single_turn.steps
                                     : settings.stages.agentic.steps;
}

std::uint64_t context_of(const Settings& settings, Stage stage) {
  return stage == Stage::single_turn ? settings.stages.single_turn.context_tokens
                                     : settings.stages.agentic.context_tokens;
}

/// What the trainer's thread is given, and what it hands back.
struct PpoWork {
  std::vector<const Trajectory*> trajectories;  ///< those that take part
  std::vector<Sequence> sequences;
  std::uint64_t context = 0;
  std::uint64_t version = 0;  ///< of the weights that the step starts from
  double actor_rate = 0;
  double critic_rate = 0;
};

struct PpoDone {
  std::optional<double> explained_variance;
  StepFigures first_actor, last_actor, first_critic;
  bool skipped = false;
  bool unwhitened = false;  ///< asked for, and too few tokens
  std::string skip_detail;
  double rescore_seconds = 0, critic_seconds = 0, actor_seconds = 0;
};

double since(TimePoint began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// Rescore V, advantages, then for each epoch a critic step and an actor step. On the trainer's
/// thread.
PpoDone compute_step(Trainer& trainer, const PpoWork& work, const Learning& learning) {
  PpoDone done;
  auto began = std::chrono::steady_clock::now();
  const bool has_critic = learning.advantage != AdvantageKind::group;
  auto values = has_critic ? trainer.values(work.sequences)
                           : std::vector<std::vector<double>>(work.sequences.size());
  const auto targets = ppo_targets(work.trajectories, values, learning, work.context, work.version);
  done.explained_variance = targets.explained_variance;
  done.unwhitened = learning.whiten && has_critic && !targets.whitened;
  done.rescore_seconds = since(began);
  for (std::uint32_t epoch = 0; epoch < learning.epochs; ++epoch) {
    began = std::chrono::steady_clock::now();
    if (has_critic) {
      const auto critic = trainer.critic_step(work.sequences, targets.critic, work.critic_rate);
      if (epoch == 0) done.first_critic = critic;
      if (critic.skipped) done.skipped = true, done.skip_detail = critic.skip_detail;
    }
    done.critic_seconds += since(began);
    began = std::chrono::steady_clock::now();
    const auto actor = trainer.actor_step(work.sequences, targets.actor, work.actor_rate);
    if (epoch == 0) done.first_actor = actor;
    done.last_actor = actor;
    if (actor.skipped) done.skipped = true, done.skip_detail = actor.skip_detail;
    done.actor_seconds += since(began);
  }
  return done;
}

void fill_row(StepRow& row, const PpoDone& done, const BatchFigures& figures) {
  row.trajectories = figures.trajectories;
  row.tokens = figures.policy_tokens;
  row.skipped = done.skipped;
  if (figures.trajectories > 0) {
    row.reward_mean = figures.reward_mean;
    row.length_mean = figures.length_mean;
    row.turns_mean = figures.turns_mean;
  }
  row.truncated_share = figures.truncated_share;
  row.explained_variance = done.explained_variance;
  const auto& first = done.first_actor;
  const auto& last = done.last_actor;
  if (first.tokens == 0 || first.skipped) return;
  const double tokens = static_cast<double>(first.tokens);
  row.policy_loss = first.loss;
  row.entropy = first.entropy_sum / tokens;
  if (first.kl_tokens > 0)
    row.kl_behaviour = first.kl_behaviour_sum / static_cast<double>(first.kl_tokens);
  row.grad_norm_actor = first.grad_norm;
  row.clip_low = static_cast<double>(last.clipped_low) / tokens;
  row.clip_high = static_cast<double>(last.clipped_high) / tokens;
  if (last.ratio_square_sum > 0)
    row.effective_sample_size = last.ratio_sum * last.ratio_sum / last.ratio_square_sum / tokens;
  if (done.first_critic.tokens > 0) {
    row.value_loss = done.first_critic.loss;
    row.grad_norm_critic = done.first_critic.grad_norm;
  }
}

BatchQuestion question_of(StageHost& host) {
  const auto& learning = host.settings().learning;
  return {.step = host.state().step,
          .batch = learning.batch,
          .group_size = learning.group_size,
          .staleness = learning.staleness,
          .cancelled = host.state().cancelled_groups};
}

void count_passed_over(PassedOver& counts, const PpoWork& work, const PpoDone& done) {
  if (work.sequences.empty()) ++counts.empty_steps;
  if (done.unwhitened) ++counts.unwhitened_steps;
  counts.missing_logprobs += done.first_actor.missing_logprobs;
  if (done.unwhitened) log_warning("advantages not whitened", {{"count", counts.unwhitened_steps}});
  if (done.first_actor.missing_logprobs > 0)
    log_warning("sampled tokens without a log-probability", {{"count", counts.missing_logprobs}});
}

/// What the next batch is chosen from. Groups that are given up, here or by the controller, are
/// neither waited for nor trained on.
struct Choice {
  BatchQuestion question;
  std::vector<ReadyTrajectory> ready;
  Blockage blockage;  ///< empty groups: a batch can be taken, or nothing known is in its way
};

Choice choice_of(StageHost& host) {
  const auto& state = host.state();
  const auto& ledger = host.store().ledger();
  Choice out{question_of(host), {}, {}};
  auto& given_up = out.question.cancelled;
  const auto failed = ledger.failed_groups(state.slot);
  given_up.insert(given_up.end(), failed.begin(), failed.end());
  out.ready = without_groups(ledger.ready(state.slot, state.step), given_up);
  const auto consumed = ledger.consumed_groups(state.slot, state.step);
  const auto next = ledger.next_group(state.slot);
  if (out.question.staleness > 0)
    out.question.running_starts = presumed_running(out.ready, consumed, next, out.question);
  out.blockage = blockage(out.ready, consumed, next, out.question);
  return out;
}

/// Cancels what has blocked the batch for too long, or waits for news.
Task<> wait_for_news(StageHost& host, StragglerWatch& watch, Blockage seen, StopSource& stop) {
  const auto accepted = host.store().ledger().accepted(host.state().slot);
  const auto stragglers = watch.observe(std::move(seen), accepted, host.clock().now());
  if (!stragglers.empty()) {
    host.cancel_groups(stragglers);
  } else if (const auto due = watch.due()) {
    co_await wait_until(host.store().changed(), *due, host.clock(), stop);
  } else {
    co_await host.store().changed().wait(stop);
  }
}

/// The batch of the next step: as an earlier life logged it, else chosen now and logged. Nothing:
/// stopping.
Task<std::optional<std::vector<std::string>>> next_batch(StageHost& host, StopSource& stop) {
  const auto& state = host.state();
  const auto& learning = host.settings().learning;
  const auto began = host.clock().now();
  StragglerWatch watch{std::chrono::minutes(learning.straggler_wait_minutes)};
  while (!stop.stopping()) {
    if (const auto* logged = host.store().ledger().logged_batch(state.slot, state.step))
      co_return *logged;
    auto choice = choice_of(host);
    if (auto ids = select_batch(choice.ready, choice.question)) {
      host.set_training(true);  // before the frame is written: nothing new starts from here on
      BatchRecord frame{state.slot, state.step, *ids};
      if (!co_await host.record(std::move(frame), stop)) co_return std::nullopt;
      host.metrics().phase("wait",
                           std::chrono::duration<double>(host.clock().now() - began).count());
      co_return ids;
    }
    host.set_progress(slot_name(state.slot) + " step " + std::to_string(state.step + 1) + ": " +
                      std::to_string(choice.ready.size()) + "/" + std::to_string(learning.batch) +
                      " trajectories");
    co_await wait_for_news(host, watch, std::move(choice.blockage), stop);
  }
  co_return std::nullopt;
}

std::string describe(const GuardEvent& event) {
  return std::string(to_string(event.signal)) + " at " + std::to_string(event.value);
}

/// What the guardrails saw, as conditions and metrics. Returns the one that acts, if any.
std::optional<GuardEvent> watch(StageHost& host, const GuardInput& input) {
  std::optional<GuardEvent> acted;
  const auto events = host.guard().observe(input);
  for (const auto& event : events) {
    const std::string name(to_string(event.signal));
    switch (event.kind) {
      case GuardEvent::Kind::alert:
        log_warning("guardrail alert", {{"signal", name}, {"value", event.value}});
        host.set_condition({name, true, "Alert", describe(event)});
        break;
      case GuardEvent::Kind::cleared:
        host.set_condition({name, false, "Cleared", describe(event)});
        break;
      case GuardEvent::Kind::action:
        host.metrics().guardrail_paused(event.signal);
        host.set_condition({name, true, "Acted", describe(event)});
        acted = event;
        break;
    }
  }
  host.metrics().guardrails(host.guard());
  if (const auto average = host.guard().state().reward_average)
    host.metrics().reward_average(*average);
  return acted;
}

/// A guardrail acted: the step is kept, and its weights reach nobody until the user resumes. A
/// rollback does the same: going back to a checkpoint inside a run is not built.
Task<bool> hold_back(StageHost& host, GuardEvent event, StopSource& stop) {
  auto& state = host.state();
  ++state.step;
  state.unpublished = true;
  host.set_dirty(false);
  host.pause(std::string(to_string(event.signal)),
             describe(event) + "; look at the last trajectories, then resume the run or stop it");
  host.set_training(false);  // what runs may end meanwhile
  if (!co_await host.checkpoint(false, stop)) co_return false;
  if (!co_await host.running(stop)) co_return false;
  host.set_training(true);
  if (!co_await host.publish(state.step, stop)) co_return false;
  co_return co_await host.checkpoint(false, stop);
}

GuardInput guard_input(const StepRow& row, const BatchFigures& figures, const Attempts& attempts) {
  GuardInput input;
  input.step = row.step;
  input.reward_mean = row.reward_mean;
  input.entropy = row.entropy;
  input.behaviour_k3 = row.kl_behaviour;
  input.explained_variance = row.explained_variance;
  input.skipped = row.skipped;
  input.truncated_share = figures.truncated_share;
  if (figures.trajectories > 0) input.repetition_share = figures.repetition_share;
  if (attempts.made > 0)
    input.infrastructure_share =
        static_cast<double>(attempts.lost) / static_cast<double>(attempts.made);
  return input;
}

struct LoadedBatch {
  std::vector<Trajectory> trajectories;
  PpoWork work;
  BatchFigures figures;
  std::uint64_t staleness_max = 0;
};

/// Reads the batch and sorts out who takes part.
Task<> load_batch(StageHost& host, std::vector<std::string> ids, LoadedBatch& out) {
  const auto& state = host.state();
  const auto& ledger = host.store().ledger();
  const auto& settings = host.settings();
  auto loaded = co_await host.store().load(ids);
  if (!loaded) throw std::runtime_error(loaded.error().message);
  out.trajectories = std::move(*loaded);
  std::vector<const Trajectory*> all;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto* entry = ledger.find(ids[i]);
    const auto start = ledger.start_step(*entry, state.slot);
    const auto staleness = state.step > start ? state.step - start : 0;
    out.staleness_max = std::max(out.staleness_max, staleness);
    host.metrics().batch_staleness(staleness);
    all.push_back(&out.trajectories[i]);
    if (!takes_part(out.trajectories[i], entry->use, settings.learning)) continue;
    out.work.trajectories.push_back(&out.trajectories[i]);
    out.work.sequences.push_back(sequence_of(out.trajectories[i]));
  }
  out.figures = batch_figures(all, settings.learning);
  out.work.version = state.weight_version;
  out.work.context = context_of(settings, state.slot.stage);
  out.work.actor_rate = warmup_constant(settings.learning.actor_learning_rate, state.step,
                                        settings.learning.warmup_steps);
  out.work.critic_rate = warmup_constant(settings.learning.critic_learning_rate, state.step,
                                         settings.learning.warmup_steps);
}

Task<bool> ppo_step(StageHost& host, std::vector<std::string> ids, StopSource& stop) {
  auto& state = host.state();
  const auto& learning = host.settings().learning;
  const auto began = host.clock().now();
  LoadedBatch batch;
  co_await load_batch(host, std::move(ids), batch);
  PpoDone done;
  host.set_dirty(true);
  if (batch.work.sequences.empty()) {
    done.skipped = true;  // S = 0: nothing to learn from, and the batch is consumed
    done.skip_detail = "no trajectory of the batch takes part";
  } else {
    auto job = [&] { return compute_step(host.trainer(), batch.work, learning); };
    done = co_await host.compute(std::move(job));
  }
  count_passed_over(state.passed_over, batch.work, done);
  if (done.skipped) log_warning("optimiser step skipped", {{"detail", done.skip_detail}});
  StepRow row;
  row.stage = to_string(state.slot.stage);
  row.step = state.step + 1;
  row.weight_version = state.weight_version;
  row.staleness_max = batch.staleness_max;
  row.learning_rate = batch.work.actor_rate;
  fill_row(row, done, batch.figures);
  row.wall_seconds = std::chrono::duration<double>(host.clock().now() - began).count();
  host.metrics().phase("rescore", done.rescore_seconds);
  host.metrics().phase("critic", done.critic_seconds);
  host.metrics().phase("actor", done.actor_seconds);
  if (batch.figures.trajectories > 0) state.reward_mean = batch.figures.reward_mean;
  const auto attempts = host.store().ledger().attempts(state.slot, question_of(host));
  const auto input = guard_input(row, batch.figures, attempts);
  if (!co_await host.row(row, stop)) co_return false;
  if (const auto acted = watch(host, input)) co_return co_await hold_back(host, *acted, stop);
  if (!co_await host.publish(state.step + 1, stop)) co_return false;
  ++state.step;
  host.set_dirty(false);
  host.set_progress(slot_name(state.slot) + " step " + std::to_string(state.step) + " reward " +
                    std::to_string(batch.figures.reward_mean));
  if (state.step % learning.checkpoint_every_steps == 0)
    co_return co_await host.checkpoint(false, stop);
  co_return true;
}

}  // namespace

Task<bool> run_ppo(StageHost& host, StopSource& stop) {
  auto& state = host.state();
  const auto total = steps_of(host.settings(), state.slot.stage);
  host.set_target(0, total);
  while (state.step < total) {
    if (!co_await host.running(stop)) co_return false;
    auto ids = co_await next_batch(host, stop);
    if (!ids) co_return false;
    host.set_training(true);
    const bool done = co_await ppo_step(host, std::move(*ids), stop);
    host.set_training(false);
    if (!done) co_return false;
  }
  co_return true;
}

}  // namespace swage::learner
