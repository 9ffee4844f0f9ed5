#include "common/view/trajectory_json.hpp"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cctype>

namespace swage {
namespace {

nlohmann::json turn_json(const v1::Trajectory& trajectory, const v1::Turn& turn,
                         const DecodeIds& decode) {
  const std::span<const std::uint32_t> ids(trajectory.token_ids().data(),
                                           static_cast<std::size_t>(trajectory.token_ids_size()));
  const auto text = [&](std::uint32_t begin, std::uint32_t end) {
    const auto last = std::min<std::size_t>(end, ids.size());
    const auto first = std::min<std::size_t>(begin, last);
    return decode(ids.subspan(first, last - first));
  };
  auto calls = nlohmann::json::array();
  for (const auto& call : turn.calls())
    calls.push_back({{"name", call.name()}, {"schema_valid", call.schema_valid()}});
  return {{"policy", text(turn.policy_begin(), turn.policy_end())},
          {"observation", text(turn.policy_end(), turn.observation_end())},
          {"policy_tokens", turn.policy_end() - turn.policy_begin()},
          {"observation_tokens", turn.observation_end() - turn.policy_end()},
          {"calls", std::move(calls)},
          {"work_digest", turn.work_digest()},
          {"wall_ms", turn.wall_ms()}};
}

nlohmann::json verdicts_json(const v1::Trajectory& trajectory) {
  auto verdicts = nlohmann::json::array();
  for (const auto& signed_verdict : trajectory.verdicts()) {
    v1::Verdict verdict;
    if (verdict.ParseFromString(signed_verdict.verdict()))
      verdicts.push_back(verdict_json(verdict));
  }
  return verdicts;
}

}  // namespace

std::string short_name(const std::string& enumerator, const std::string& prefix) {
  std::string out = enumerator.starts_with(prefix) ? enumerator.substr(prefix.size()) : enumerator;
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

nlohmann::json verdict_json(const v1::Verdict& verdict) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(verdict, &text, options).ok())
    return nlohmann::json::object();
  auto json = nlohmann::json::parse(text);
  json["code"] = short_name(v1::VerdictCode_Name(verdict.code()), "VERDICT_CODE_");
  json["mode"] = short_name(v1::EvaluationMode_Name(verdict.mode()), "EVALUATION_MODE_");
  return json;
}

nlohmann::json trajectory_json(const v1::Trajectory& trajectory, const DecodeIds& decode) {
  auto turns = nlohmann::json::array();
  for (const auto& turn : trajectory.turns()) turns.push_back(turn_json(trajectory, turn, decode));
  auto rewards = nlohmann::json::array();
  for (const auto& reward : trajectory.rewards())
    rewards.push_back(
        {{"position", reward.position()}, {"value", reward.value()}, {"kind", reward.kind()}});
  auto spans = nlohmann::json::array();
  for (const auto& span : trajectory.version_spans())
    spans.push_back(
        {{"begin", span.begin()}, {"end", span.end()}, {"weight_version", span.weight_version()}});
  const std::span<const std::uint32_t> ids(trajectory.token_ids().data(),
                                           static_cast<std::size_t>(trajectory.token_ids_size()));
  const auto prompt_end =
      trajectory.turns_size() > 0
          ? std::min<std::size_t>(trajectory.turns(0).policy_begin(), ids.size())
          : ids.size();
  nlohmann::json out{
      {"rollout_id", trajectory.rollout_id()},
      {"attempt", trajectory.attempt()},
      {"run", trajectory.run()},
      {"stage", short_name(v1::Stage_Name(trajectory.stage()), "STAGE_")},
      {"task_id", trajectory.task_id()},
      {"actor", short_name(v1::Actor_Name(trajectory.actor()), "ACTOR_")},
      {"use", short_name(v1::Use_Name(trajectory.use()), "USE_")},
      {"stop_reason", short_name(v1::StopReason_Name(trajectory.stop_reason()), "STOP_REASON_")},
      {"truncated", trajectory.truncated()},
      {"infrastructure_failure", trajectory.infrastructure_failure()},
      {"started_unix_ms", trajectory.started_unix_ms()},
      {"ended_unix_ms", trajectory.ended_unix_ms()},
      {"tokens", trajectory.token_ids_size()},
      {"sampled_tokens",
       std::count(trajectory.loss_mask().begin(), trajectory.loss_mask().end(), '\1')},
      {"prompt", decode(ids.first(prompt_end))},
      {"turns", std::move(turns)},
      {"rewards", std::move(rewards)},
      {"version_spans", std::move(spans)},
      {"verdicts", verdicts_json(trajectory)}};
  if (trajectory.has_final_verdict()) out["final_verdict"] = trajectory.final_verdict();
  return out;
}

nlohmann::json trajectory_line_json(const v1::TrajectoryLine& line) {
  nlohmann::json out{
      {"rollout_id", line.rollout_id()},
      {"attempt", line.attempt()},
      {"stage", short_name(v1::Stage_Name(line.stage()), "STAGE_")},
      {"task_id", line.task_id()},
      {"stop_reason", short_name(v1::StopReason_Name(line.stop_reason()), "STOP_REASON_")},
      {"turns", line.turns()},
      {"tokens", line.tokens()},
      {"infrastructure", line.infrastructure()}};
  if (line.has_reward()) out["reward"] = line.reward();
  return out;
}

}  // namespace swage
