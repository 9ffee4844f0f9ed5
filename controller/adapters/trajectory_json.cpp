#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "common/base/digest.hpp"
#include "controller/adapters/messages.hpp"
#include "controller/adapters/trajectory_client.hpp"

namespace swage::controller {
namespace {

using nlohmann::json;

/// `STAGE_COLLECT` → `collect`.
std::string short_name(std::string name, std::string_view prefix) {
  if (name.starts_with(prefix)) name.erase(0, prefix.size());
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

json verdict_json(const v1::SignedVerdict& signed_verdict) {
  v1::Verdict verdict;
  if (!verdict.ParseFromString(signed_verdict.verdict()))
    return {{"unreadable", to_hex(signed_verdict.verdict())}};
  std::string text;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  if (!google::protobuf::util::MessageToJsonString(verdict, &text, options).ok()) return nullptr;
  auto value = json::parse(text, nullptr, false);
  value["code"] = short_name(v1::VerdictCode_Name(verdict.code()), "VERDICT_CODE_");
  value["mode"] = short_name(v1::EvaluationMode_Name(verdict.mode()), "EVALUATION_MODE_");
  return value;
}

/// The ids of [begin, end), as far as the trajectory has them.
std::span<const std::uint32_t> slice(const v1::Trajectory& trajectory, std::uint32_t begin,
                                     std::uint32_t end) {
  const std::span<const std::uint32_t> all(trajectory.token_ids().data(),
                                           static_cast<std::size_t>(trajectory.token_ids_size()));
  const auto to = std::min<std::size_t>(end, all.size());
  const auto from = std::min<std::size_t>(begin, to);
  return all.subspan(from, to - from);
}

json turn_json(const v1::Trajectory& trajectory, const v1::Turn& turn, const DecodeTokens& decode) {
  json calls = json::array();
  for (const auto& call : turn.calls())
    calls.push_back({{"name", call.name()},
                     {"arguments_digest", call.arguments_digest()},
                     {"schema_valid", call.schema_valid()}});
  return {{"policy",
           {{"begin", turn.policy_begin()},
            {"end", turn.policy_end()},
            {"text", decode(slice(trajectory, turn.policy_begin(), turn.policy_end()))}}},
          {"observation",
           {{"begin", turn.policy_end()},
            {"end", turn.observation_end()},
            {"text", decode(slice(trajectory, turn.policy_end(), turn.observation_end()))}}},
          {"calls", std::move(calls)},
          {"work_digest", turn.work_digest()},
          {"wall_ms", turn.wall_ms()}};
}

json token_json(const v1::Trajectory& trajectory) {
  json mask = json::array();
  for (const char bit : trajectory.loss_mask()) mask.push_back(bit != 0 ? 1 : 0);
  json logprobs = json::array();
  for (const float value : trajectory.behaviour_logprobs())
    logprobs.push_back(std::isfinite(value) ? json(value) : json(nullptr));
  json ids = json::array();
  for (const auto id : trajectory.token_ids()) ids.push_back(id);
  return {{"ids", std::move(ids)},
          {"loss_mask", std::move(mask)},
          {"behaviour_logprobs", std::move(logprobs)}};
}

}  // namespace

json trajectory_json(const v1::Trajectory& trajectory, const DecodeTokens& decode) {
  json turns = json::array();
  for (const auto& turn : trajectory.turns()) turns.push_back(turn_json(trajectory, turn, decode));
  const auto prompt_end = trajectory.turns_size() > 0
                              ? trajectory.turns(0).policy_begin()
                              : static_cast<std::uint32_t>(trajectory.token_ids_size());
  json rewards = json::array();
  for (const auto& reward : trajectory.rewards())
    rewards.push_back(
        {{"position", reward.position()}, {"value", reward.value()}, {"kind", reward.kind()}});
  json verdicts = json::array();
  for (const auto& verdict : trajectory.verdicts()) verdicts.push_back(verdict_json(verdict));
  json spans = json::array();
  for (const auto& span : trajectory.version_spans())
    spans.push_back(
        {{"begin", span.begin()}, {"end", span.end()}, {"weight_version", span.weight_version()}});
  return {{"rollout_id", trajectory.rollout_id()},
          {"attempt", trajectory.attempt()},
          {"run", trajectory.run()},
          {"run_uid", trajectory.run_uid()},
          {"stage", short_name(v1::Stage_Name(trajectory.stage()), "STAGE_")},
          {"stage_round", trajectory.stage_round()},
          {"task_id", trajectory.task_id()},
          {"task_digest", trajectory.task_digest()},
          {"group", trajectory.group_id()},
          {"member", trajectory.group_index()},
          {"seed", trajectory.seed()},
          {"started_unix_ms", trajectory.started_unix_ms()},
          {"ended_unix_ms", trajectory.ended_unix_ms()},
          {"actor", short_name(v1::Actor_Name(trajectory.actor()), "ACTOR_")},
          {"use", short_name(v1::Use_Name(trajectory.use()), "USE_")},
          {"renderer", trajectory.renderer()},
          {"temperature", trajectory.sampling().temperature()},
          {"prompt", {{"end", prompt_end}, {"text", decode(slice(trajectory, 0, prompt_end))}}},
          {"turns", std::move(turns)},
          {"rewards", std::move(rewards)},
          {"verdicts", std::move(verdicts)},
          {"final_verdict",
           trajectory.has_final_verdict() ? json(trajectory.final_verdict()) : json(nullptr)},
          {"stop_reason", stop_reason_name(trajectory.stop_reason())},
          {"truncated", trajectory.truncated()},
          {"infrastructure_failure", trajectory.infrastructure_failure()},
          {"version_spans", std::move(spans)},
          {"tokens", token_json(trajectory)}};
}

json line_json(const v1::TrajectoryLine& line) {
  return {{"seq", line.seq()},
          {"rollout_id", line.rollout_id()},
          {"attempt", line.attempt()},
          {"stage", short_name(v1::Stage_Name(line.stage()), "STAGE_")},
          {"task_id", line.task_id()},
          {"stop_reason", stop_reason_name(line.stop_reason())},
          {"turns", line.turns()},
          {"tokens", line.tokens()},
          {"reward", line.has_reward() ? json(line.reward()) : json(nullptr)},
          {"infrastructure", line.infrastructure()}};
}

}  // namespace swage::controller
