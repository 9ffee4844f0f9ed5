#include "gpu_pool/worker/adapters/verdict_figures.hpp"

#include <algorithm>
#include <cctype>

#include "swage/v1/verdict.pb.h"

namespace swage::worker {
namespace {

std::string code_name(v1::VerdictCode code) {
  std::string name = v1::VerdictCode_Name(code);
  name.erase(0, std::string("VERDICT_CODE_").size());
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace

std::optional<VerdictFigures> figures_of(const std::string& verdict) {
  v1::Verdict parsed;
  if (!parsed.ParseFromString(verdict)) return std::nullopt;
  VerdictFigures figures;
  figures.code = code_name(parsed.code());
  for (const auto& [phase, ms] : parsed.phase_ms()) figures.phase_seconds[phase] = ms / 1000.0;
  if (parsed.has_timing() && parsed.timing().q_eager().median() > 0)
    figures.speedup_eager = 1 / parsed.timing().q_eager().median();
  if (parsed.has_timing() && parsed.timing().q_compile().median() > 0)
    figures.speedup_compile = 1 / parsed.timing().q_compile().median();
  return figures;
}

std::vector<std::string> verdict_codes() {
  std::vector<std::string> codes;
  for (int i = v1::VerdictCode_MIN + 1; i <= v1::VerdictCode_MAX; ++i)
    if (v1::VerdictCode_IsValid(i)) codes.push_back(code_name(static_cast<v1::VerdictCode>(i)));
  return codes;
}

}  // namespace swage::worker
