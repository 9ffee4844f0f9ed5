#pragma once

#include "common/metrics/metrics.hpp"

namespace swage::worker {

/// What a GPU worker counts; verdicts are counted by who asked for them. Thread-safe.
struct WorkerMetrics {
  explicit WorkerMetrics(Metrics& metrics)
      : fence_rejections(metrics.counter("swage_pool_fence_rejections_total",
                                         "Evaluations refused because their lease was over")),
        not_clear(metrics.counter("swage_gpu_health_failures_total",
                                  "Failed health checks of the device", {{"check", "clear"}})) {}
  void evaluation_refused_stale() { fence_rejections.Increment(); }
  void device_not_clear() { not_clear.Increment(); }

  prometheus::Counter &fence_rejections, &not_clear;
};

}  // namespace swage::worker
