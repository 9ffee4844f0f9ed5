#include "learner/app/stages.hpp"

#include <algorithm>
#include <stdexcept>

#include "common/base/check.hpp"
#include "common/log/log.hpp"

namespace swage::learner {
namespace {

std::uint64_t target_of(const Settings& settings, const StageSlot& slot) {
  return slot.stage == Stage::collect ? settings.stages.collect.trajectories
                                      : settings.evaluation_rollouts;
}

/// What an evaluation round counts: its own trajectories. A collect stage counts all.
std::optional<Use> counted_use(const StageSlot& slot) {
  return slot.stage == Stage::evaluation ? std::optional(Use::evaluation) : std::nullopt;
}

void finish_evaluation(StageHost& host, const std::vector<const LedgerEntry*>& entries) {
  // Without a token of the policy's it is in no statistic; without a score it earned the least.
  double sum = 0;
  std::size_t counted = 0;
  for (const auto* entry : entries) {
    if (entry->policy_tokens == 0) continue;
    sum += entry->reward.value_or(-1.0);
    ++counted;
  }
  auto& state = host.state();
  auto& mean = state.slot.round == 1 ? state.reward_after_rft : state.reward_final;
  mean = counted > 0 ? std::optional(sum / static_cast<double>(counted)) : std::nullopt;
  log_info(
      "evaluation round done",
      {{"round", state.slot.round}, {"rollouts", counted}, {"reward_mean", mean.value_or(-1.0)}});
}

std::size_t index_in(const std::vector<StageSlot>& plan, const StageSlot& slot) {
  const auto at = std::find(plan.begin(), plan.end(), slot);
  check(at != plan.end(), "the state's stage is part of the plan");
  return static_cast<std::size_t>(at - plan.begin());
}

/// What must be fresh when a stage begins.
Task<> prepare(StageHost& host, const std::vector<StageSlot>& plan, std::size_t index) {
  const auto stage = plan[index].stage;
  const auto before = plan.begin() + static_cast<std::ptrdiff_t>(index);
  const bool pretrained = std::any_of(plan.begin(), before, [](const StageSlot& slot) {
    return slot.stage == Stage::critic || is_ppo(slot.stage);
  });
  const bool actor = stage == Stage::rft || is_ppo(stage);
  const bool critic = stage == Stage::critic || (is_ppo(stage) && !pretrained);
  auto job = [&trainer = host.trainer(), actor, critic] {
    if (actor) trainer.reset_actor_optimiser();
    if (critic) trainer.reset_critic();
  };
  co_await host.compute(std::move(job));
}

Task<bool> run_slot(StageHost& host, StopSource& stop) {
  switch (host.state().slot.stage) {
    case Stage::collect:
    case Stage::evaluation:
      co_return co_await run_gather(host, stop);
    case Stage::rft:
      co_return co_await run_rft(host, stop);
    case Stage::critic:
      co_return co_await run_critic(host, stop);
    case Stage::single_turn:
    case Stage::agentic:
      co_return co_await run_ppo(host, stop);
    case Stage::done:
      co_return true;
  }
  co_return true;
}

Task<bool> enter(StageHost& host, const std::vector<StageSlot>& plan, std::size_t index,
                 StopSource& stop) {
  auto& state = host.state();
  state.slot = plan[index];
  state.step = 0;
  state.cancelled_groups.clear();
  state.critic_history.clear();
  state.critic_monte_carlo.reset();
  ++state.serial;
  host.enter_stage();
  host.set_target(0, 0);
  host.set_progress("");
  log_info("stage begins", {{"stage", slot_name(state.slot)}});
  co_await prepare(host, plan, index);
  co_return co_await host.checkpoint(true, stop);
}

}  // namespace

Task<bool> run_gather(StageHost& host, StopSource& stop) {
  const auto slot = host.state().slot;
  const auto target = target_of(host.settings(), slot);
  host.set_target(target, 0);
  while (true) {
    const auto have = host.store().ledger().of_slot(slot, counted_use(slot), target);
    host.set_progress(slot_name(slot) + " " + std::to_string(have.size()) + "/" +
                      std::to_string(target));
    if (have.size() >= target) {
      if (slot.stage == Stage::evaluation) finish_evaluation(host, have);
      co_return true;
    }
    co_await host.store().changed().wait(stop);
    if (stop.stopping()) co_return false;
  }
}

Task<std::vector<Trajectory>> collected(StageHost& host) {
  const auto limit = host.settings().stages.collect.trajectories;
  std::vector<std::string> ids;
  for (const auto* entry : host.store().ledger().of_slot({Stage::collect, 0}, std::nullopt, limit))
    ids.push_back(entry->rollout_id);
  auto loaded = co_await host.store().load(std::move(ids));
  if (!loaded) throw std::runtime_error(loaded.error().message);
  co_return std::move(*loaded);
}

Task<> run_stages(StageHost& host, StopSource& stop) {
  const auto plan = stage_plan(host.settings());
  auto index = index_in(plan, host.state().slot);
  bool going = co_await host.publish_restored(stop);
  if (going && host.checkpoints().list().empty()) going = co_await host.checkpoint(true, stop);
  while (going && host.state().slot.stage != Stage::done) {
    going = co_await run_slot(host, stop);
    if (going)
      going = co_await host.running(stop);  // the stage's last step may have paused the run
    if (going) going = co_await enter(host, plan, ++index, stop);
  }
  if (!stop.stopping()) {
    log_info("all stages are done");
    co_return;
  }
  // Stopped on request: what was done since the last checkpoint is kept, if the disk lets us.
  if (host.dirty()) co_return;  // the last checkpoint and the log hold everything
  StopSource last;
  last.request(StopReason::requested);
  if (!co_await host.checkpoint(false, last))
    log_warning("no checkpoint could be written at the end");
}

}  // namespace swage::learner
