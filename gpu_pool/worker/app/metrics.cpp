#include "gpu_pool/worker/app/metrics.hpp"

#include "gpu_pool/worker/adapters/verdict_figures.hpp"

namespace swage::worker {
namespace {

constexpr std::array kModes = {"verify", "profile", "score"};
constexpr std::array kPhases = {"load", "first_call", "checks", "timing"};

const std::vector<double>& speedup_buckets() {
  static const std::vector<double> kBuckets = {0.25, 0.5, 0.8, 0.95, 1.0, 1.05,
                                               1.25, 1.5, 2,   3,    5,   10};
  return kBuckets;
}

constexpr auto kSpeedupHelp = "Speed-up of judged solutions over a baseline";

/// Endings without a verdict stand in the same family.
std::string label_of(const Ending& ending) {
  if (const auto* refused = std::get_if<Refused>(&ending))
    return refused->code == Refusal::bad_bundle ? "bad_bundle" : "lease_lost";
  const auto* lost = std::get_if<Lost>(&ending);
  if (lost != nullptr && lost->why == Lost::Why::cancelled) return "cancelled";
  return "judge_lost";
}

}  // namespace

WorkerMetrics::WorkerMetrics(Metrics& metrics)
    : speedup_eager_(metrics.histogram("swage_evaluation_speedup", kSpeedupHelp, speedup_buckets(),
                                       {{"baseline", "eager"}})),
      speedup_compile_(metrics.histogram("swage_evaluation_speedup", kSpeedupHelp,
                                         speedup_buckets(), {{"baseline", "compile"}})),
      fence_rejections_(metrics.counter("swage_pool_fence_rejections_total",
                                        "Evaluations refused because their lease was over")),
      not_clear_(metrics.counter("swage_gpu_health_failures_total",
                                 "Failed health checks of the device", {{"check", "clear"}})) {
  auto labels = verdict_codes();
  labels.insert(labels.end(), {"bad_bundle", "lease_lost", "cancelled", "judge_lost"});
  for (std::size_t mode = 0; mode < kModes.size(); ++mode) {
    for (const auto& verdict : labels)
      ended_[mode][verdict] = &metrics.counter("swage_evaluation_total", "Evaluations by outcome",
                                               {{"mode", kModes[mode]}, {"verdict", verdict}});
    for (const auto* phase : kPhases)
      seconds_[mode][phase] =
          &metrics.histogram("swage_evaluation_seconds", "Duration of an evaluation's phases",
                             seconds_buckets(), {{"mode", kModes[mode]}, {"phase", phase}});
  }
}

void WorkerMetrics::count(judge::Mode mode, const std::string& verdict) {
  auto& family = ended_[static_cast<std::size_t>(mode)];
  const auto at = family.find(verdict);
  if (at != family.end()) at->second->Increment();
}

void WorkerMetrics::evaluation_ended(const EvaluationCall& call, const Ending& ending) {
  const auto mode = call.work.mode;
  const auto* outcome = std::get_if<judge::JudgeOutcome>(&ending);
  if (outcome == nullptr) return count(mode, label_of(ending));
  const auto figures = figures_of(outcome->verdict);
  if (!figures) return count(mode, "infra_error");
  count(mode, figures->code);
  auto& seconds = seconds_[static_cast<std::size_t>(mode)];
  for (const auto& [phase, value] : figures->phase_seconds)
    if (const auto at = seconds.find(phase); at != seconds.end()) at->second->Observe(value);
  if (figures->speedup_eager) speedup_eager_.Observe(*figures->speedup_eager);
  if (figures->speedup_compile) speedup_compile_.Observe(*figures->speedup_compile);
}

}  // namespace swage::worker
