#include "cli/core/noise_summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace swage::cli {
namespace {

constexpr double kFaster = 0.95;  // the judge's: a ratio wholly below this

}  // namespace

void NoiseSummary::add(const nlohmann::json& verdict) {
  ++runs_;
  ++codes_[verdict.value("code", "no verdict")];
  const auto timing = verdict.find("timing");
  if (timing == verdict.end() || !timing->contains("q_twin")) return;
  const auto& ratio = timing->at("q_twin");
  if (ratio.value("hi", 1.0) < kFaster) ++faster_;
  if (ratio.value("lo", 1.0) > 1 / kFaster) ++slower_;
  distances_.push_back(std::fabs(ratio.value("median", 1.0) - 1));
  std::ranges::sort(distances_);
}

bool NoiseSummary::sound() const {
  std::uint32_t expected = 0;
  for (const char* code : {"ok", "timing_unstable"})
    if (const auto found = codes_.find(code); found != codes_.end()) expected += found->second;
  return expected == runs_ && false_verdicts() == 0;
}

nlohmann::json NoiseSummary::record() const {
  nlohmann::json out{{"runs", runs_}, {"codes", codes_}, {"faster", faster_}, {"slower", slower_}};
  if (distances_.empty()) return out;
  out["median_distance"] = distances_[distances_.size() / 2];
  out["largest_distance"] = distances_.back();
  return out;
}

std::string NoiseSummary::text() const {
  std::string out = std::to_string(runs_) + " runs of one kernel against itself:";
  for (const auto& [code, count] : codes_) out += " " + std::to_string(count) + " " + code;
  out += "; called faster " + std::to_string(faster_) + ", slower " + std::to_string(slower_);
  if (!distances_.empty()) {
    char figures[96];
    std::snprintf(figures, sizeof figures, "; |ratio - 1| median %.4f, largest %.4f",
                  distances_[distances_.size() / 2], distances_.back());
    out += figures;
  }
  return out + "\n";
}

}  // namespace swage::cli
