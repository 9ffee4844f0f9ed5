// The part of Session that compiles, packs and asks for evaluations.
#include "common/log/log.hpp"
#include "sandbox/api/work_layout.hpp"
#include "sandbox/app/session.hpp"
#include "sandbox/app/standing_clock.hpp"
#include "sandbox/core/report.hpp"

namespace swage::sandbox {

Task<FilesCollected> Session::collect() {
  const auto id = next_id_++;
  container_->socket().send(encode(ToRunner(CollectFiles{id})));
  while (!collected_.contains(id) && !stop_.stopping()) co_await answered_.wait(stop_);
  FilesCollected out{id, {}, "the session is over"};
  if (auto node = collected_.extract(id)) out = std::move(node.mapped());
  // The runner lives with untrusted code: its word on limits and names is not taken.
  if (out.problem.empty())
    if (const auto fits = check_bundle_files(out.files); !fits) out.problem = fits.error();
  if (!out.problem.empty()) out.files.clear();
  out.files = handed_in(std::move(out.files));
  co_return out;
}

Task<Result<CompileOutcome, CompileError>> Session::compile(std::vector<WorkFile> files) {
  auto inputs = bundle_id(files, {});
  if (last_compile_ && last_compile_->first == inputs) co_return last_compile_->second;
  const StandingClock standing(tool_clock_, world_.clock, tick_);
  auto outcome = co_await world_.compiler.compile(std::move(files), stop_);
  if (!outcome) {
    if (outcome.error().code != CompileErrc::cancelled)
      log_error("compile service failed", {{"why", outcome.error().message}});
    co_return outcome;
  }
  figures_.count += 1;
  figures_.units += outcome->record.units;
  figures_.cache_hits += outcome->record.cache_hits;
  figures_.wall += outcome->record.wall;
  last_compile_.emplace(std::move(inputs), *outcome);
  co_return outcome;
}

Task<Result<Session::Packed, CompileError>> Session::make_bundle() {
  auto collected = co_await collect();
  Packed out{{}, work_digest(collected.files)};
  auto& bundle = out.bundle;
  bundle.files = bundle_files(agent_->bundled(), std::move(collected.files));
  if (!collected.problem.empty()) {
    bundle.compile_error = collected.problem;
  } else if (auto outcome = co_await compile(bundle.files); !outcome) {
    co_return tl::unexpected(outcome.error());  // ours, not the agent's
  } else {
    bundle.compile = outcome->record;
    bundle.library = std::move(outcome->library);
    if (!outcome->compiled) bundle.compile_error = outcome->diagnostics;
  }
  if (bundle.library.empty() && bundle.compile_error.empty())
    bundle.compile_error = "compilation failed without a message";
  bundle.id = bundle_id(bundle.files, bundle.library);
  co_return out;
}

Task<> Session::pack(std::uint64_t id) {
  auto packed = co_await make_bundle();
  if (stop_.stopping()) co_return;
  if (!packed) {
    finish({SessionEnd::Kind::lost, "the compile service: " + packed.error().message});
    co_return;
  }
  queued_.erase(id);
  digest_ = packed->digest;
  outbox_.push(WorkPacked{id, std::move(packed->bundle), std::move(packed->digest)});
}

Task<Report> Session::answer_desk(DeskRequest request) {
  switch (request) {
    case DeskRequest::compile:
      co_return co_await compile_for_agent();
    case DeskRequest::verify:
      co_return co_await evaluate(EvaluationMode::verify);
    case DeskRequest::profile:
      co_return co_await evaluate(profile_scores_ ? EvaluationMode::score
                                                  : EvaluationMode::profile);
  }
  co_return unavailable_report("unknown request");
}

Task<Report> Session::compile_for_agent() {
  auto collected = co_await collect();
  CompileOutcome outcome;
  if (!collected.problem.empty()) {
    outcome.diagnostics = collected.problem;
    co_return compile_report(outcome);
  }
  const auto compiled =
      co_await compile(bundle_files(agent_->bundled(), std::move(collected.files)));
  if (!compiled) co_return unavailable_report(compiled.error().message);
  co_return compile_report(*compiled);
}

Task<Report> Session::evaluate(EvaluationMode mode) {
  if (evaluating_) co_return unavailable_report("another evaluation of yours is under way");
  evaluating_ = true;
  const auto report = co_await evaluate_alone(mode);
  evaluating_ = false;
  co_return report;
}

Task<Report> Session::evaluate_alone(EvaluationMode mode) {
  auto packed = co_await make_bundle();
  if (!packed) co_return unavailable_report(packed.error().message);
  if (!packed->bundle.compile_error.empty()) {
    CompileOutcome outcome;
    outcome.diagnostics = packed->bundle.compile_error;
    if (packed->bundle.compile) outcome.record = *packed->bundle.compile;
    co_return compile_report(outcome);
  }
  const auto answer = co_await ask(mode, std::move(packed->bundle), std::move(packed->digest));
  co_return answer.evaluation ? evaluation_report(*answer.evaluation, mode)
                              : unavailable_report(answer.error);
}

Task<EvaluationAnswer> Session::ask(EvaluationMode mode, PackedBundle bundle, std::string digest) {
  const StandingClock standing(tool_clock_, world_.clock, tick_);
  const auto id = next_id_++;
  outbox_.push(EvaluationAsk{id, mode, std::move(bundle), std::move(digest)});
  while (!answers_.contains(id) && !stop_.stopping()) co_await answered_.wait(stop_);
  EvaluationAnswer out{id, std::nullopt, "the session is over"};
  if (auto node = answers_.extract(id)) out = std::move(node.mapped());
  co_return out;
}

}  // namespace swage::sandbox
