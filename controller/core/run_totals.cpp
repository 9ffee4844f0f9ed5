#include "controller/core/run_totals.hpp"

#include <numeric>

namespace swage::controller {
namespace {

constexpr std::size_t kLengthsKept = 32;

}  // namespace

std::string weaker(const std::string& a, const std::string& b) {
  if (a == "reduced" || b == "reduced") return "reduced";
  return a.empty() ? b : a;
}

void RunTotals::add(const RolloutAccount& account) {
  for (const auto& [code, count] : account.evaluations) {
    verdicts[code] += count;
    evaluations += count;
  }
  compile_count += account.compile_count;
  compile_units += account.compile_units;
  compile_cache_hits += account.compile_cache_hits;
  isolation = weaker(isolation, account.isolation);
  trust = weaker(trust, account.trust);
  if (!account.end.delivered) return;
  lengths.push_back(account.tokens);
  if (lengths.size() > kLengthsKept) lengths.pop_front();
}

std::optional<double> RunTotals::length_mean() const {
  if (lengths.empty()) return std::nullopt;
  return std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(lengths.size());
}

void RunTotals::enter(const LearnerStatus& status, std::int64_t unix_ms) {
  const bool restarted = status.duplicates < duplicates_told;
  duplicates_refused += status.duplicates - (restarted ? 0 : duplicates_told);
  duplicates_told = status.duplicates;
  if (status.stage == Stage::none) return;
  if (stages.empty() || stages.back().stage != status.stage) {
    if (!stages.empty() && stages.back().ended_unix_ms == 0) stages.back().ended_unix_ms = unix_ms;
    if (status.stage == Stage::done) return;
    stages.push_back({status.stage, unix_ms, 0, 0});
  }
  stages.back().steps = status.step;
}

}  // namespace swage::controller
