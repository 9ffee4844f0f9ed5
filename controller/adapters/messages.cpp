#include "controller/adapters/messages.hpp"

#include <algorithm>
#include <cctype>

namespace swage::controller {
namespace {

v1::Stage wire_stage(Stage stage) {
  switch (stage) {
    case Stage::single_turn:
      return v1::STAGE_SINGLE_TURN;
    case Stage::collect:
      return v1::STAGE_COLLECT;
    case Stage::rft:
      return v1::STAGE_RFT;
    case Stage::critic:
      return v1::STAGE_CRITIC;
    case Stage::agentic:
      return v1::STAGE_AGENTIC;
    case Stage::eval1:
    case Stage::eval2:
      return v1::STAGE_EVALUATION;
    case Stage::done:
      return v1::STAGE_DONE;
    case Stage::none:
      break;
  }
  return v1::STAGE_UNSPECIFIED;
}

Stage stage_from(v1::Stage stage, std::uint32_t round) {
  switch (stage) {
    case v1::STAGE_SINGLE_TURN:
      return Stage::single_turn;
    case v1::STAGE_COLLECT:
      return Stage::collect;
    case v1::STAGE_RFT:
      return Stage::rft;
    case v1::STAGE_CRITIC:
      return Stage::critic;
    case v1::STAGE_AGENTIC:
      return Stage::agentic;
    case v1::STAGE_EVALUATION:
      return round <= 1 ? Stage::eval1 : Stage::eval2;
    case v1::STAGE_DONE:
      return Stage::done;
    default:
      return Stage::none;
  }
}

std::uint32_t round_of(Stage stage) {
  return stage == Stage::eval1 ? 1 : stage == Stage::eval2 ? 2 : 0;
}

v1::Use use_of(const AssignmentOrder& order) {
  if (is_evaluation(order.stage)) return v1::USE_EVALUATION;
  return order.stage == Stage::collect ? v1::USE_IMITATION : v1::USE_PPO;
}

void fill_task(const TaskRecord& task, v1::Task& out) {
  out.set_id(task.id);
  out.set_source(task.source);
  out.set_digest(task.digest);
  out.set_device_kind(device_kind_name(task.device_kind));
  out.set_level(task.level);
  for (const auto& op : task.ops) out.add_ops(op);
  for (const auto& tag : task.tags) out.add_tags(tag);
  out.set_eager_ms(task.eager_ms);
  out.set_compile_ms(task.compile_ms);
}

}  // namespace

v1::Assignment to_wire(const AssignmentOrder& order) {
  v1::Assignment out;
  out.mutable_rollout()->set_rollout_id(order.rollout_id);
  out.mutable_rollout()->set_attempt(order.attempt);
  out.set_epoch(order.epoch);
  out.set_run(order.run);
  out.set_run_uid(order.run_uid);
  out.set_stage(wire_stage(order.stage));
  out.set_stage_round(round_of(order.stage));
  out.set_group_id(order.group);
  out.set_group_index(order.member);
  out.set_seed(order.seed);
  fill_task(order.task, *out.mutable_task());
  out.mutable_sandbox()->set_address(order.sandbox.address);
  out.mutable_sandbox()->set_token(order.sandbox.token);
  out.mutable_sandbox()->set_uid(order.sandbox.uid);
  out.set_actor(order.teacher ? v1::ACTOR_TEACHER : v1::ACTOR_POLICY);
  out.set_teacher_card(order.teacher_card);
  out.set_use(use_of(order));
  auto& limits = *out.mutable_limits();
  limits.set_turns(order.bounds.turns);
  limits.set_context_tokens(order.bounds.context_tokens);
  limits.set_turn_tokens(order.bounds.turn_tokens);
  limits.set_observation_tokens(order.bounds.observation_tokens);
  limits.set_wall_clock_seconds(order.bounds.wall_clock_seconds);
  out.mutable_sampling()->set_temperature(static_cast<float>(order.temperature));
  out.mutable_sampling()->set_seed(order.seed);
  out.set_min_weight_version(order.min_weight_version);
  out.set_precision(order.precision == Precision::matched ? "matched" : "official");
  out.set_one_machine(order.one_machine);
  out.set_weight(static_cast<std::uint32_t>(order.weight));
  out.set_max_leases(static_cast<std::uint32_t>(order.max_leases));
  out.set_no_agent_loop(order.no_agent_loop);
  out.set_reward(order.reward);
  return out;
}

v1::PolicySet to_wire(const std::vector<PolicyServer>& servers) {
  v1::PolicySet out;
  for (const auto& server : servers) {
    auto& endpoint = *out.add_servers();
    endpoint.set_address(server.address);
    endpoint.set_weight_version(server.weight_version);
  }
  return out;
}

std::string stop_reason_name(v1::StopReason reason) {
  constexpr std::string_view kPrefix = "STOP_REASON_";
  auto name = v1::StopReason_Name(reason);
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

RolloutAccount account_from(const v1::RolloutDone& done) {
  RolloutAccount out;
  out.end.attempt = {done.rollout().rollout_id(), done.rollout().attempt()};
  out.end.delivered = done.delivered();
  out.end.infrastructure_cause = done.infrastructure_cause();
  out.end.cancelled = done.stop_reason() == v1::STOP_REASON_CANCELLED;
  out.stop_reason = stop_reason_name(done.stop_reason());
  if (done.has_reward()) out.reward = done.reward();
  out.turns = done.turns();
  out.tokens = done.tokens();
  out.evaluations.insert(done.evaluations().begin(), done.evaluations().end());
  out.compile_count = done.compile_count();
  out.compile_units = done.compile_units();
  out.compile_cache_hits = done.compile_cache_hits();
  out.isolation = done.isolation();
  out.trust = done.trust();
  return out;
}

LearnerStatus status_from(const v1::LearnerStatus& status) {
  LearnerStatus out;
  out.stage = stage_from(status.stage(), status.stage_round());
  out.step = status.step();
  out.steps_total = status.steps_total();
  out.weight_version = status.weight_version();
  out.target = status.target();
  out.accepted = status.accepted();
  out.ready = status.ready();
  out.consumed = status.consumed();
  out.staleness = status.staleness();
  out.batch = status.batch();
  out.group_size = std::max(status.group_size(), 1U);
  out.next_group = status.next_group();
  if (status.has_pause())
    out.pause = {status.pause().id(), status.pause().reason(), status.pause().message()};
  for (const auto& condition : status.conditions())
    out.conditions.push_back(
        {condition.type(), condition.status(), condition.reason(), condition.message()});
  out.cancel_groups.assign(status.cancel_groups().begin(), status.cancel_groups().end());
  out.training = status.training();
  if (status.has_reward_mean()) out.reward_mean = status.reward_mean();
  if (status.has_reward_after_rft()) out.reward_after_rft = status.reward_after_rft();
  if (status.has_reward_final()) out.reward_final = status.reward_final();
  out.trajectories = status.trajectories();
  out.duplicates = status.duplicates();
  out.rejected = status.rejected();
  out.stage_serial = status.stage_serial();
  out.progress = status.progress();
  return out;
}

}  // namespace swage::controller
