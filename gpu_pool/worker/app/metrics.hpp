#pragma once

#include <array>
#include <map>
#include <string>

#include "common/metrics/metrics.hpp"
#include "gpu_pool/worker/api/evaluator.hpp"

namespace swage::worker {

/// What a GPU worker counts. Thread-safe, as its handles are.
class WorkerMetrics {
 public:
  explicit WorkerMetrics(Metrics& metrics);
  void evaluation_ended(const EvaluationCall& call, const Ending& ending);
  void evaluation_refused_stale() { fence_rejections_.Increment(); }
  void device_not_clear() { not_clear_.Increment(); }

 private:
  using ByVerdict = std::map<std::string, prometheus::Counter*>;
  using ByPhase = std::map<std::string, prometheus::Histogram*>;
  void count(judge::Mode mode, const std::string& verdict);

  std::array<ByVerdict, 3> ended_;  // by mode
  std::array<ByPhase, 3> seconds_;
  prometheus::Histogram &speedup_eager_, &speedup_compile_;
  prometheus::Counter &fence_rejections_, &not_clear_;
};

}  // namespace swage::worker
