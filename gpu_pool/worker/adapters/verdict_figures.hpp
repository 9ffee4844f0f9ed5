#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace swage::worker {

/// What a verdict says that is worth counting.
struct VerdictFigures {
  std::string code;  ///< lower case, e.g. `ok`, `mismatch`
  std::map<std::string, double> phase_seconds;
  std::optional<double> speedup_eager, speedup_compile;  ///< medians, baseline / candidate
};

/// Nothing: the bytes are no verdict.
std::optional<VerdictFigures> figures_of(const std::string& verdict);

/// All codes that figures_of may give.
std::vector<std::string> verdict_codes();

}  // namespace swage::worker
