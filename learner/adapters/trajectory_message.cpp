#include "learner/adapters/trajectory_message.hpp"

#include "common/base/digest.hpp"
#include "swage/v1/verdict.pb.h"

namespace swage::learner {
namespace {

std::optional<Stage> stage_of(v1::Stage stage) {
  switch (stage) {
    case v1::STAGE_SINGLE_TURN:
      return Stage::single_turn;
    case v1::STAGE_COLLECT:
      return Stage::collect;
    case v1::STAGE_AGENTIC:
      return Stage::agentic;
    case v1::STAGE_EVALUATION:
      return Stage::evaluation;
    default:  // no trajectories are made in the other stages
      return std::nullopt;
  }
}

RolloutStop stop_of(v1::StopReason reason) {
  switch (reason) {
    case v1::STOP_REASON_NO_TOOL_CALL:
      return RolloutStop::no_tool_call;
    case v1::STOP_REASON_SCHEMA_VIOLATION:
      return RolloutStop::schema_violation;
    case v1::STOP_REASON_TURN_LIMIT:
      return RolloutStop::turn_limit;
    case v1::STOP_REASON_CONTEXT_FULL:
      return RolloutStop::context_full;
    case v1::STOP_REASON_WALL_CLOCK:
      return RolloutStop::wall_clock;
    case v1::STOP_REASON_CANCELLED:
      return RolloutStop::cancelled;
    case v1::STOP_REASON_INFRASTRUCTURE:
      return RolloutStop::infrastructure;
    default:
      return RolloutStop::none;
  }
}

Use use_of(v1::Use use) {
  switch (use) {
    case v1::USE_PPO:
      return Use::ppo;
    case v1::USE_IMITATION:
      return Use::imitation;
    case v1::USE_EVALUATION:
      return Use::evaluation;
    default:
      return Use::none;
  }
}

Outcome outcome_of(v1::VerdictCode code) {
  switch (code) {
    case v1::VERDICT_CODE_OK:
      return Outcome::right;
    case v1::VERDICT_CODE_TIMING_UNSTABLE:
      return Outcome::unstable;
    case v1::VERDICT_CODE_UNSPECIFIED:
    case v1::VERDICT_CODE_TASK_INVALID:
    case v1::VERDICT_CODE_INFRA_ERROR:
      return Outcome::none;
    default:
      return Outcome::wrong;
  }
}

VerdictSummary verdict_from(const v1::SignedVerdict& message, std::string_view key) {
  VerdictSummary out;
  v1::Verdict verdict;
  if (!verdict.ParseFromString(message.verdict())) return out;
  out.signature_valid = constant_time_equal(hmac_sha256(key, message.verdict()), message.hmac());
  out.rollout_id = verdict.rollout_id();
  out.attempt = verdict.attempt();
  out.task_id = verdict.task_id();
  out.task_digest = verdict.task_digest();
  out.pool = verdict.pool();
  out.scored = verdict.mode() == v1::EVALUATION_MODE_SCORE;
  out.outcome = outcome_of(verdict.code());
  out.full_trust = verdict.trust().level() == "full";
  out.tier = verdict.tier();
  if (verdict.has_reward()) out.reward = verdict.reward();
  if (verdict.timing().has_q_compile()) out.ratio_compile = verdict.timing().q_compile().median();
  out.code = v1::VerdictCode_Name(verdict.code());
  return out;
}

Turn turn_from(const v1::Turn& message) {
  Turn out;
  out.policy_begin = message.policy_begin();
  out.policy_end = message.policy_end();
  out.observation_end = message.observation_end();
  for (const auto& call : message.calls())
    out.calls.push_back({call.name(), call.arguments_digest(), call.schema_valid()});
  out.observation_digest = message.observation_digest();
  out.work_digest = message.work_digest();
  return out;
}

void copy_identity(const v1::Trajectory& message, Trajectory& out) {
  out.schema_version = message.schema_version();
  out.rollout_id = message.rollout_id();
  out.attempt = message.attempt();
  out.run_uid = message.run_uid();
  out.stage = stage_of(message.stage());
  out.stage_round = message.stage_round();
  out.task_id = message.task_id();
  out.task_digest = message.task_digest();
  out.group_id = message.group_id();
  out.group_index = message.group_index();
  out.config_digest = message.config_digest();
  out.tokenizer_digest = message.tokenizer_digest();
  out.renderer = message.renderer();
}

void copy_sampling(const v1::Trajectory& message, Trajectory& out) {
  const auto& sampling = message.sampling();
  out.temperature = static_cast<double>(sampling.temperature());
  out.filtered = sampling.top_k() != 0 || sampling.min_p() != 0 ||
                 (sampling.top_p() != 0 && sampling.top_p() != 1);
  out.actor = message.actor() == v1::ACTOR_TEACHER ? Actor::teacher : Actor::policy;
  out.use = use_of(message.use());
  for (const auto& span : message.version_spans())
    out.spans.push_back({span.begin(), span.end(), span.weight_version()});
}

}  // namespace

Trajectory trajectory_from(const v1::Trajectory& message, std::string_view verdict_key) {
  Trajectory out;
  copy_identity(message, out);
  copy_sampling(message, out);
  out.ids.assign(message.token_ids().begin(), message.token_ids().end());
  out.mask.assign(message.loss_mask().begin(), message.loss_mask().end());
  out.behaviour_logprobs.assign(message.behaviour_logprobs().begin(),
                                message.behaviour_logprobs().end());
  for (const auto& turn : message.turns()) out.turns.push_back(turn_from(turn));
  for (const auto& reward : message.rewards())
    out.rewards.push_back({reward.position(), reward.value(), reward.kind()});
  for (const auto& verdict : message.verdicts())
    out.verdicts.push_back(verdict_from(verdict, verdict_key));
  if (message.has_final_verdict()) out.final_verdict = message.final_verdict();
  out.stop_reason = stop_of(message.stop_reason());
  out.truncated = message.truncated();
  out.infrastructure_failure = message.infrastructure_failure();
  return out;
}

std::optional<Trajectory> trajectory_from_bytes(const std::string& bytes,
                                                std::string_view verdict_key) {
  v1::Trajectory message;
  if (!message.ParseFromString(bytes)) return std::nullopt;
  return trajectory_from(message, verdict_key);
}

v1::Stage to_wire(Stage stage) {
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
    case Stage::evaluation:
      return v1::STAGE_EVALUATION;
    case Stage::done:
      return v1::STAGE_DONE;
  }
  return v1::STAGE_UNSPECIFIED;
}

v1::StopReason to_wire(RolloutStop reason) {
  switch (reason) {
    case RolloutStop::none:
      return v1::STOP_REASON_UNSPECIFIED;
    case RolloutStop::no_tool_call:
      return v1::STOP_REASON_NO_TOOL_CALL;
    case RolloutStop::schema_violation:
      return v1::STOP_REASON_SCHEMA_VIOLATION;
    case RolloutStop::turn_limit:
      return v1::STOP_REASON_TURN_LIMIT;
    case RolloutStop::context_full:
      return v1::STOP_REASON_CONTEXT_FULL;
    case RolloutStop::wall_clock:
      return v1::STOP_REASON_WALL_CLOCK;
    case RolloutStop::cancelled:
      return v1::STOP_REASON_CANCELLED;
    case RolloutStop::infrastructure:
      return v1::STOP_REASON_INFRASTRUCTURE;
  }
  return v1::STOP_REASON_UNSPECIFIED;
}

}  // namespace swage::learner
