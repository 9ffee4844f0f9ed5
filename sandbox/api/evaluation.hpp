#pragma once

#include <optional>
#include <string>
#include <vector>

namespace swage::sandbox {

/// What an evaluation has to answer.
enum class EvaluationMode { verify, profile, score };

struct CheckResult {
  std::string kind;  ///< as the verdict names it: `random`, `repeat`, `timed`, …
  bool passed = false;
  double max_abs = 0;  ///< largest |candidate - eager|
};

/// A ratio of times with its interval, dimensionless.
struct RatioInterval {
  double median = 0, lo = 0, hi = 0;
};

struct TimingResult {
  double candidate_us = 0, eager_us = 0;  ///< calibrated medians, microseconds
  std::optional<double> compile_us;
  RatioInterval q_eager;
  std::optional<RatioInterval> q_compile;
  unsigned rounds = 0;
};

/// The part of a verdict that its agent is told.
struct Evaluation {
  std::string code;    ///< `ok`, `mismatch`, …: lower-case names of VerdictCode
  std::string detail;  ///< one sentence for people
  std::vector<CheckResult> checks;
  std::optional<TimingResult> timing;
  std::vector<std::string> policy;  ///< `rule: detail`
  unsigned tier = 0;
  std::optional<double> reward;
  std::string log;  ///< the candidate's output, escaped
};

}  // namespace swage::sandbox
