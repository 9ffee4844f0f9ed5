#pragma once

#include <string>
#include <vector>

#include "sandbox/api/compile_types.hpp"
#include "sandbox/api/evaluation.hpp"

namespace swage::sandbox {

/// What a script of utils/ prints and returns to its shell.
struct Report {
  std::vector<std::string> lines;
  int exit_code = 0;
};

/// utils/compile.sh: `[TIME] Compilation took X.XXs`, before it the diagnostics.
Report compile_report(const CompileOutcome& outcome);

/// utils/verification and utils/profiling: the published lines first, then ours.
Report evaluation_report(const Evaluation& evaluation, EvaluationMode asked);

/// No answer could be had; `why` is for people.
Report unavailable_report(const std::string& why);

}  // namespace swage::sandbox
