#include "rollout_worker/adapters/convert.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "common/base/digest.hpp"

namespace swage::rollout_worker {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string code_name(v1::VerdictCode code) {
  return lower(v1::VerdictCode_Name(code).substr(std::string("VERDICT_CODE_").size()));
}

v1::StopReason to_wire(EndReason reason) {
  switch (reason) {
    case EndReason::no_tool_call:
      return v1::STOP_REASON_NO_TOOL_CALL;
    case EndReason::schema_violation:
      return v1::STOP_REASON_SCHEMA_VIOLATION;
    case EndReason::turn_limit:
      return v1::STOP_REASON_TURN_LIMIT;
    case EndReason::context_full:
      return v1::STOP_REASON_CONTEXT_FULL;
    case EndReason::wall_clock:
      return v1::STOP_REASON_WALL_CLOCK;
    case EndReason::cancelled:
      return v1::STOP_REASON_CANCELLED;
    case EndReason::infrastructure:
      return v1::STOP_REASON_INFRASTRUCTURE;
  }
  return v1::STOP_REASON_UNSPECIFIED;
}

v1::RolloutPhase to_wire(Phase phase) {
  switch (phase) {
    case Phase::accepted:
      return v1::ROLLOUT_PHASE_ACCEPTED;
    case Phase::running:
      return v1::ROLLOUT_PHASE_RUNNING;
    case Phase::scoring:
      return v1::ROLLOUT_PHASE_SCORING;
    case Phase::delivering:
      return v1::ROLLOUT_PHASE_DELIVERING;
  }
  return v1::ROLLOUT_PHASE_UNSPECIFIED;
}

v1::Use to_wire(Use use) {
  switch (use) {
    case Use::ppo:
      return v1::USE_PPO;
    case Use::imitation:
      return v1::USE_IMITATION;
    case Use::evaluation:
      return v1::USE_EVALUATION;
  }
  return v1::USE_UNSPECIFIED;
}

EvaluationMode mode_from(v1::EvaluationMode mode) {
  switch (mode) {
    case v1::EVALUATION_MODE_PROFILE:
      return EvaluationMode::profile;
    case v1::EVALUATION_MODE_SCORE:
      return EvaluationMode::score;
    default:
      return EvaluationMode::verify;
  }
}

PackedWork packed(const v1::Bundle& bundle, std::string work_digest) {
  PackedWork work;
  work.bundle_id = bundle.id();
  work.compiled = !bundle.library().empty();
  work.encoded = std::make_shared<const std::string>(bundle.SerializeAsString());
  work.work_digest = std::move(work_digest);
  return work;
}

tl::unexpected<std::string> missing(const char* field) {
  return tl::unexpected<std::string>(field);
}

MeasuredRatio ratio(const v1::Ratio& from) { return {from.median(), from.lo(), from.hi()}; }

void add_turns(const Trajectory& from, v1::Trajectory& to) {
  for (const auto& turn : from.turns) {
    auto& out = *to.add_turns();
    out.set_policy_begin(turn.policy_begin);
    out.set_policy_end(turn.policy_end);
    out.set_observation_end(turn.observation_end);
    for (const auto& call : turn.calls) {
      auto& record = *out.add_calls();
      record.set_name(call.name);
      record.set_arguments_digest(call.arguments_digest);
      record.set_schema_valid(call.schema_valid);
    }
    out.set_observation_digest(turn.observation_digest);
    out.set_work_digest(turn.work_digest);
    out.set_wall_ms(turn.wall_ms);
  }
}

void add_tokens(const Trajectory& from, v1::Trajectory& to) {
  for (const auto& span : from.version_spans) {
    auto& out = *to.add_version_spans();
    out.set_begin(span.begin);
    out.set_end(span.end);
    out.set_weight_version(span.weight_version);
  }
  to.mutable_token_ids()->Add(from.token_ids.begin(), from.token_ids.end());
  to.mutable_loss_mask()->assign(from.loss_mask.begin(), from.loss_mask.end());
  to.mutable_behaviour_logprobs()->Add(from.behaviour_logprobs.begin(),
                                       from.behaviour_logprobs.end());
}

}  // namespace

v1::RolloutRef to_wire(const RolloutKey& key) {
  v1::RolloutRef ref;
  ref.set_rollout_id(key.id.str());
  ref.set_attempt(key.attempt);
  return ref;
}

RolloutKey from_wire(const v1::RolloutRef& ref) {
  return {RolloutId(ref.rollout_id()), ref.attempt()};
}

v1::EvaluationMode to_wire(EvaluationMode mode) {
  switch (mode) {
    case EvaluationMode::verify:
      return v1::EVALUATION_MODE_VERIFY;
    case EvaluationMode::profile:
      return v1::EVALUATION_MODE_PROFILE;
    case EvaluationMode::score:
      return v1::EVALUATION_MODE_SCORE;
  }
  return v1::EVALUATION_MODE_UNSPECIFIED;
}

v1::Sampling to_wire(const Sampling& sampling) {
  v1::Sampling out;
  out.set_temperature(sampling.temperature);
  out.set_top_k(sampling.top_k);
  out.set_top_p(sampling.top_p);
  out.set_min_p(sampling.min_p);
  out.set_seed(sampling.seed);
  return out;
}

v1::Task to_wire(const TaskRecord& task) {
  v1::Task out;
  out.ParseFromString(task.encoded);  // we encoded it ourselves
  return out;
}

v1::RolloutReport to_wire(const RolloutReport& report) {
  v1::RolloutReport out;
  *out.mutable_rollout() = to_wire(report.key);
  out.set_phase(to_wire(report.phase));
  out.set_sandbox_uid(report.sandbox_uid);
  out.set_turns(report.turns);
  out.set_tokens(report.tokens);
  return out;
}

v1::RolloutDone to_wire(const RolloutDone& done) {
  v1::RolloutDone out;
  *out.mutable_rollout() = to_wire(done.key);
  out.set_stop_reason(to_wire(done.reason));
  out.set_delivered(done.delivered);
  out.set_infrastructure_cause(done.infrastructure_cause);
  if (done.reward) out.set_reward(*done.reward);
  out.set_turns(done.turns);
  out.set_tokens(done.tokens);
  for (const auto& [code, count] : done.evaluations) (*out.mutable_evaluations())[code] = count;
  out.set_compile_count(done.compile_count);
  out.set_compile_units(done.compile_units);
  out.set_compile_cache_hits(done.compile_cache_hits);
  out.set_isolation(done.isolation);
  out.set_trust(done.trust);
  return out;
}

v1::Trajectory to_wire(const Trajectory& trajectory) {
  v1::Trajectory out;
  out.set_schema_version(1);
  out.set_rollout_id(trajectory.key.id.str());
  out.set_attempt(trajectory.key.attempt);
  const auto& from = trajectory.provenance;
  out.set_run(from.run);
  out.set_run_uid(from.run_uid);
  out.set_stage(static_cast<v1::Stage>(from.stage));
  out.set_stage_round(from.stage_round);
  out.set_group_id(from.group_id);
  out.set_group_index(from.group_index);
  out.set_seed(from.seed);
  out.set_task_id(trajectory.task.id);
  out.set_task_digest(trajectory.task.digest);
  out.set_started_unix_ms(trajectory.started_unix_ms);
  out.set_ended_unix_ms(trajectory.ended_unix_ms);
  out.set_config_digest(trajectory.identity.config_digest);
  out.set_tokenizer_digest(trajectory.identity.tokenizer_digest);
  out.set_renderer(trajectory.renderer);
  *out.mutable_sampling() = to_wire(trajectory.sampling);
  out.set_use(to_wire(trajectory.use));
  out.set_actor(trajectory.actor == Actor::teacher ? v1::ACTOR_TEACHER : v1::ACTOR_POLICY);
  add_tokens(trajectory, out);
  add_turns(trajectory, out);
  if (trajectory.reward) {
    auto& reward = *out.add_rewards();
    reward.set_position(trajectory.reward_position);
    reward.set_value(*trajectory.reward);
    reward.set_kind("terminal");
  }
  for (const auto& judgement : trajectory.verdicts) {
    auto& verdict = *out.add_verdicts();
    verdict.set_verdict(judgement.verdict);
    verdict.set_hmac(judgement.hmac);
  }
  if (trajectory.final_verdict) out.set_final_verdict(*trajectory.final_verdict);
  out.set_stop_reason(to_wire(trajectory.reason));
  out.set_truncated(is_truncation(trajectory.reason));
  out.set_infrastructure_failure(trajectory.infrastructure_failure);
  return out;
}

v1::SessionDown to_wire(const SandboxOrder& order) {
  v1::SessionDown out;
  if (const auto* call = std::get_if<ToolCall>(&order)) {
    auto& tool = *out.mutable_tool();
    tool.set_id(call->id);
    tool.set_name(call->name);
    tool.set_arguments_json(call->arguments);
  } else if (const auto* answer = std::get_if<AskAnswer>(&order)) {
    auto& message = *out.mutable_answer();
    message.set_id(answer->id);
    if (answer->judgement) message.mutable_verdict()->ParseFromString(answer->judgement->verdict);
    message.set_error(answer->error);
  } else if (const auto* pack = std::get_if<PackOrder>(&order)) {
    out.mutable_pack()->set_id(pack->id);
  } else if (const auto* cancel = std::get_if<CancelTool>(&order)) {
    out.mutable_cancel()->set_id(cancel->id);
  }
  return out;
}

Result<Assignment, std::string> from_wire(const v1::Assignment& message) {
  Assignment a;
  a.key = from_wire(message.rollout());
  const auto& limits = message.limits();
  if (a.key.id.empty() || a.key.attempt == 0) return missing("rollout");
  if (message.task().id().empty() || message.task().source().empty()) return missing("task");
  if (message.sandbox().address().empty()) return missing("sandbox.address");
  if (limits.turns() == 0) return missing("limits.turns");
  if (limits.context_tokens() == 0) return missing("limits.context_tokens");
  if (limits.turn_tokens() == 0) return missing("limits.turn_tokens");
  if (limits.wall_clock_seconds() == 0) return missing("limits.wall_clock_seconds");
  if (message.actor() == v1::ACTOR_UNSPECIFIED) return missing("actor");
  if (message.use() == v1::USE_UNSPECIFIED) return missing("use");
  a.epoch = message.epoch();
  a.provenance = {
      message.run(),         message.run_uid(),  static_cast<std::uint32_t>(message.stage()),
      message.stage_round(), message.group_id(), message.group_index(),
      message.seed()};
  a.task = {message.task().id(), message.task().digest(), message.task().SerializeAsString()};
  a.sandbox = {message.sandbox().address(), message.sandbox().token(), message.sandbox().uid()};
  a.actor = message.actor() == v1::ACTOR_TEACHER ? Actor::teacher : Actor::policy;
  a.teacher_card = message.teacher_card();
  a.use = message.use() == v1::USE_PPO         ? Use::ppo
          : message.use() == v1::USE_IMITATION ? Use::imitation
                                               : Use::evaluation;
  a.limits = {limits.turns(), limits.context_tokens(), limits.turn_tokens(),
              limits.observation_tokens(), std::chrono::seconds(limits.wall_clock_seconds())};
  const auto& sampling = message.sampling();
  a.sampling = {sampling.temperature(), sampling.top_k(), sampling.top_p(), sampling.min_p(),
                sampling.seed()};
  a.min_weight_version = message.min_weight_version();
  if (!message.precision().empty()) a.precision = message.precision();
  a.one_machine = message.one_machine();
  a.no_agent_loop = message.no_agent_loop();
  a.raw_speedup = message.reward() == "speedup";
  a.lease_weight = std::max<std::uint32_t>(1, message.weight());
  a.max_leases = message.max_leases();
  return a;
}

std::optional<SandboxEvent> from_wire(v1::SessionUp message) {
  switch (message.kind_case()) {
    case v1::SessionUp::kLaid:
      return WorkLaid{message.laid().work_digest(), message.laid().work_directory()};
    case v1::SessionUp::kResult: {
      auto& result = *message.mutable_result();
      return ToolOutcome{result.id(),
                         result.schema_valid(),
                         result.ok(),
                         std::move(*result.mutable_text()),
                         result.work_digest(),
                         result.wall_ms(),
                         result.compile_count(),
                         result.compile_units(),
                         result.compile_cache_hits(),
                         result.compile_ms()};
    }
    case v1::SessionUp::kAsk:
      return EvaluationAsk{message.ask().id(), mode_from(message.ask().mode()),
                           packed(message.ask().bundle(), message.ask().work_digest())};
    case v1::SessionUp::kPacked:
      return WorkPacked{message.packed().id(),
                        packed(message.packed().bundle(), message.packed().work_digest())};
    case v1::SessionUp::KIND_NOT_SET:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Judgement> from_wire(const v1::SignedVerdict& message) {
  v1::Verdict verdict;
  if (!verdict.ParseFromString(message.verdict()) || verdict.schema_version() != 1 ||
      !v1::VerdictCode_IsValid(verdict.code()) || verdict.code() == v1::VERDICT_CODE_UNSPECIFIED)
    return std::nullopt;
  Judgement judgement;
  judgement.verdict = message.verdict();
  judgement.hmac = message.hmac();
  judgement.mode = mode_from(verdict.mode());
  judgement.code = code_name(verdict.code());
  if (verdict.has_reward()) judgement.reward = verdict.reward();
  if (verdict.has_timing()) {
    const auto& timing = verdict.timing();
    if (timing.has_q_eager()) judgement.to_eager = ratio(timing.q_eager());
    if (timing.has_q_compile()) judgement.to_compile = ratio(timing.q_compile());
  }
  judgement.trust = verdict.trust().level();
  judgement.lease_ms = verdict.lease_ms();
  for (const auto& finding : verdict.policy()) judgement.policy_rules.push_back(finding.rule());
  return judgement;
}

}  // namespace swage::rollout_worker
