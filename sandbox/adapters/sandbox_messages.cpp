#include "sandbox/adapters/sandbox_messages.hpp"

#include <algorithm>
#include <cctype>

namespace swage::sandbox {
namespace {

LayWork from_wire(const v1::LayWork& work) {
  return {work.task().id(), work.task().source(), work.task().digest(), work.task().device_kind(),
          work.profile_scores()};
}

EvaluationAnswer from_wire(const v1::EvaluationAnswer& answer) {
  EvaluationAnswer out{answer.id(), std::nullopt, answer.error()};
  if (answer.has_verdict()) out.evaluation = evaluation_from(answer.verdict());
  return out;
}

RatioInterval ratio_from(const v1::Ratio& ratio) {
  return {ratio.median(), ratio.lo(), ratio.hi()};
}

TimingResult timing_from(const v1::Timing& timing) {
  TimingResult out;
  out.candidate_us = timing.candidate().calibrated_us();
  out.eager_us = timing.eager().calibrated_us();
  if (timing.has_compile()) out.compile_us = timing.compile().calibrated_us();
  out.q_eager = ratio_from(timing.q_eager());
  if (timing.has_q_compile()) out.q_compile = ratio_from(timing.q_compile());
  out.rounds = timing.rounds();
  return out;
}

v1::CompileRecord to_wire(CompileRecord record) {
  v1::CompileRecord out;
  for (auto& digest : record.source_sha256) out.add_source_sha256(std::move(digest));
  for (auto& argument : record.argv) out.add_argv(std::move(argument));
  out.set_toolchain(std::move(record.toolchain));
  out.set_library_sha256(std::move(record.library_sha256));
  out.set_wall_ms(static_cast<std::uint32_t>(record.wall.count()));
  out.set_units(record.units);
  out.set_cache_hits(record.cache_hits);
  return out;
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

v1::ToolResult to_wire(ToolResult result) {
  v1::ToolResult out;
  out.set_id(result.id);
  out.set_schema_valid(result.schema_valid);
  out.set_ok(result.ok);
  out.set_text(std::move(result.text));
  out.set_work_digest(std::move(result.work_digest));
  out.set_wall_ms(static_cast<std::uint32_t>(result.wall.count()));
  out.set_compile_count(result.compile.count);
  out.set_compile_units(result.compile.units);
  out.set_compile_cache_hits(result.compile.cache_hits);
  out.set_compile_ms(static_cast<std::uint32_t>(result.compile.wall.count()));
  return out;
}

}  // namespace

Evaluation evaluation_from(const v1::Verdict& verdict) {
  Evaluation out;
  const std::string_view prefix = "VERDICT_CODE_";
  out.code = v1::VerdictCode_Name(verdict.code());
  if (out.code.starts_with(prefix)) out.code.erase(0, prefix.size());
  std::ranges::transform(out.code, out.code.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (out.code.empty()) out.code = "unknown";
  out.detail = verdict.detail();
  for (const auto& check : verdict.checks())
    out.checks.push_back({check.kind(), check.passed(), check.max_abs()});
  if (verdict.has_timing()) out.timing = timing_from(verdict.timing());
  for (const auto& finding : verdict.policy())
    out.policy.push_back(finding.rule() + ": " + finding.detail());
  out.tier = verdict.tier();
  if (verdict.has_reward()) out.reward = verdict.reward();
  out.log = verdict.log();
  return out;
}

std::optional<SessionDown> from_wire(v1::SessionDown message) {
  switch (message.kind_case()) {
    case v1::SessionDown::kLay:
      return from_wire(message.lay());
    case v1::SessionDown::kTool:
      return ToolCall{message.tool().id(), std::move(*message.mutable_tool()->mutable_name()),
                      std::move(*message.mutable_tool()->mutable_arguments_json())};
    case v1::SessionDown::kAnswer:
      return from_wire(message.answer());
    case v1::SessionDown::kPack:
      return PackWork{message.pack().id()};
    case v1::SessionDown::kCancel:
      return CancelTool{message.cancel().id()};
    case v1::SessionDown::KIND_NOT_SET:
      break;
  }
  return std::nullopt;
}

v1::Bundle to_wire(PackedBundle bundle) {
  v1::Bundle out;
  out.set_id(std::move(bundle.id));
  for (auto& file : bundle.files) {
    auto* added = out.add_files();
    added->set_path(std::move(file.path));
    added->set_mode(file.mode);
    added->set_content(std::move(file.content));
  }
  out.set_library(std::move(bundle.library));
  if (bundle.compile) *out.mutable_compile() = to_wire(std::move(*bundle.compile));
  out.set_compile_error(std::move(bundle.compile_error));
  return out;
}

v1::SessionUp to_wire(SessionUp message) {
  v1::SessionUp out;
  if (auto* laid = std::get_if<WorkLaid>(&message)) {
    out.mutable_laid()->set_work_digest(laid->work_digest);
    out.mutable_laid()->set_work_directory(laid->work_directory);
  } else if (auto* result = std::get_if<ToolResult>(&message)) {
    *out.mutable_result() = to_wire(std::move(*result));
  } else if (auto* ask = std::get_if<EvaluationAsk>(&message)) {
    out.mutable_ask()->set_id(ask->id);
    out.mutable_ask()->set_mode(to_wire(ask->mode));
    *out.mutable_ask()->mutable_bundle() = to_wire(std::move(ask->bundle));
    out.mutable_ask()->set_work_digest(ask->work_digest);
  } else if (auto* packed = std::get_if<WorkPacked>(&message)) {
    out.mutable_packed()->set_id(packed->id);
    *out.mutable_packed()->mutable_bundle() = to_wire(std::move(packed->bundle));
    out.mutable_packed()->set_work_digest(packed->work_digest);
  }
  return out;
}

}  // namespace swage::sandbox
