#include "sandbox/core/report.hpp"

#include <cstdarg>
#include <cstdio>

namespace swage::sandbox {
namespace {

constexpr int kChecks = 5;  // random inputs, as published

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
  char buffer[512];
  std::va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(buffer, sizeof buffer, pattern, arguments);
  va_end(arguments);
  return buffer;
}

void add_text(Report& report, std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    report.lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

/// The five checks on random inputs as published; a failed evaluation shows the last as failed.
void add_checks(Report& report, const Evaluation& evaluation) {
  int number = 0;
  for (const auto& check : evaluation.checks) {
    if (check.kind != "random" || number == kChecks) continue;
    ++number;
    if (check.passed) {
      report.lines.push_back(format("[PASS] check %d/%d", number, kChecks));
    } else {
      report.lines.push_back(
          format("[FAIL] check %d/%d: largest difference %.6g", number, kChecks, check.max_abs));
    }
  }
}

std::string ratio_line(const char* name, const RatioInterval& ratio) {
  return format("[INFO] time / %s: %.3f, interval %.3f to %.3f", name, ratio.median, ratio.lo,
                ratio.hi);
}

void add_times(Report& report, const TimingResult& timing) {
  const auto compile = timing.compile_us ? format("%.3fus", *timing.compile_us) : "n/a";
  report.lines.push_back(format("Torch Baseline: %.3fus, Torch Compile: %s, CUDA Extension: %.3fus",
                                timing.eager_us, compile.c_str(), timing.candidate_us));
  report.lines.push_back(ratio_line("Torch Baseline", timing.q_eager));
  if (timing.q_compile) report.lines.push_back(ratio_line("Torch Compile", *timing.q_compile));
}

const char* tier_text(unsigned tier) {
  switch (tier) {
    case 3:
      return "faster than Torch Baseline and Torch Compile";
    case 2:
      return "faster than Torch Baseline, not than Torch Compile";
    case 1:
      return "correct, not measurably faster than Torch Baseline";
    default:
      return "not correct";
  }
}

}  // namespace

Report compile_report(const CompileOutcome& outcome) {
  Report report;
  add_text(report, outcome.diagnostics);
  if (!outcome.compiled) {
    report.lines.emplace_back("[FAIL] compilation failed");
    report.exit_code = 1;
  }
  report.lines.push_back(format("[TIME] Compilation took %.2fs",
                                static_cast<double>(outcome.record.wall.count()) / 1000.0));
  return report;
}

Report evaluation_report(const Evaluation& evaluation, EvaluationMode asked) {
  Report report;
  const bool ok = evaluation.code == "ok";
  const bool timed = asked != EvaluationMode::verify;
  if (!timed || !ok) add_checks(report, evaluation);
  if (!timed && ok) report.lines.emplace_back("[PASS] verify success");
  if (timed && evaluation.timing) add_times(report, *evaluation.timing);
  if (!ok) {
    report.lines.push_back("[FAIL] verify failed: " + evaluation.code);
    if (!evaluation.detail.empty()) report.lines.push_back("[INFO] " + evaluation.detail);
    report.exit_code = 1;
  }
  for (const auto& finding : evaluation.policy) report.lines.push_back("[POLICY] " + finding);
  if (timed && ok)
    report.lines.push_back(
        format("[INFO] reward tier %u: %s", evaluation.tier, tier_text(evaluation.tier)));
  if (!ok && !evaluation.log.empty()) {
    report.lines.emplace_back("[INFO] output of the candidate:");
    add_text(report, evaluation.log);
  }
  return report;
}

Report unavailable_report(const std::string& why) {
  return {{"[ERROR] no evaluation could be had: " + why,
           "[INFO] This says nothing about your kernel. Try again."},
          3};
}

}  // namespace swage::sandbox
