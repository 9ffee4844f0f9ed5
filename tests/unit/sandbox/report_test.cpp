#include "sandbox/core/report.hpp"

#include <gmock/gmock.h>

namespace swage::sandbox {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Evaluation passed() {
  Evaluation out;
  out.code = "ok";
  for (int i = 0; i < 5; ++i) out.checks.push_back({"random", true, 0});
  return out;
}

TEST(Report, VerificationPrintsThePublishedLines) {
  const auto report = evaluation_report(passed(), EvaluationMode::verify);
  EXPECT_THAT(report.lines,
              ElementsAre("[PASS] check 1/5", "[PASS] check 2/5", "[PASS] check 3/5",
                          "[PASS] check 4/5", "[PASS] check 5/5", "[PASS] verify success"));
  EXPECT_EQ(report.exit_code, 0);
}

TEST(Report, AFailureNamesTheCheckAndTheReason) {
  auto evaluation = passed();
  evaluation.code = "mismatch";
  evaluation.detail = "output 0 differs";
  evaluation.checks.resize(2);
  evaluation.checks.push_back({"random", false, 0.5});
  evaluation.policy = {"ast: imports os"};
  const auto report = evaluation_report(evaluation, EvaluationMode::profile);
  EXPECT_THAT(report.lines, ElementsAre("[PASS] check 1/5", "[PASS] check 2/5",
                                        "[FAIL] check 3/5: largest difference 0.5",
                                        "[FAIL] verify failed: mismatch", "[INFO] output 0 differs",
                                        "[POLICY] ast: imports os"));
  EXPECT_EQ(report.exit_code, 1);
}

TEST(Report, ProfilingPrintsThePublishedLineFirst) {
  auto evaluation = passed();
  evaluation.tier = 3;
  evaluation.timing =
      TimingResult{80, 200, 100, {0.4, 0.39, 0.41}, RatioInterval{0.8, 0.79, 0.82}, 12};
  const auto report = evaluation_report(evaluation, EvaluationMode::score);
  EXPECT_THAT(
      report.lines,
      ElementsAre("Torch Baseline: 200.000us, Torch Compile: 100.000us, CUDA Extension: 80.000us",
                  "[INFO] time / Torch Baseline: 0.400, interval 0.390 to 0.410",
                  "[INFO] time / Torch Compile: 0.800, interval 0.790 to 0.820",
                  "[INFO] reward tier 3: faster than Torch Baseline and Torch Compile"));
}

TEST(Report, CompilationPrintsItsTimeLastAndFailsWithTheDiagnostics) {
  CompileOutcome outcome;
  outcome.record.wall = std::chrono::milliseconds(1234);
  outcome.diagnostics = "kernels/a.cpp:3:5: error: x\n";
  EXPECT_THAT(compile_report(outcome).lines,
              ElementsAre("kernels/a.cpp:3:5: error: x", "[FAIL] compilation failed",
                          "[TIME] Compilation took 1.23s"));
  outcome.compiled = true;
  outcome.diagnostics.clear();
  EXPECT_THAT(compile_report(outcome).lines, ElementsAre("[TIME] Compilation took 1.23s"));
}

TEST(Report, WithoutAnAnswerTheKernelIsNotBlamed) {
  const auto report = unavailable_report("no GPU");
  EXPECT_EQ(report.exit_code, 3);
  EXPECT_THAT(report.lines, Contains(HasSubstr("nothing about your kernel")));
}

}  // namespace
}  // namespace swage::sandbox
