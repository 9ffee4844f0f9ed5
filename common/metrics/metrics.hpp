#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace swage {

using MetricLabels = std::map<std::string, std::string>;

/// All families of one process, exposed by its HTTP server. Components take it once, at start, make
/// their handles in a `…Metrics` struct, and use only the handles afterwards. Thread-safe.
class Metrics {
 public:
  /// constant: labels on every series of this process, e.g. {{"run", "quickstart"}}.
  explicit Metrics(MetricLabels constant = {}) : constant_(std::move(constant)) {}

  /// One series. Asking twice with the same labels gives the same handle. A bad name throws.
  prometheus::Counter& counter(const std::string& name, const std::string& help,
                               const MetricLabels& labels = {});
  prometheus::Gauge& gauge(const std::string& name, const std::string& help,
                           const MetricLabels& labels = {});
  /// buckets: upper bounds, ascending, without +Inf.
  prometheus::Histogram& histogram(const std::string& name, const std::string& help,
                                   const std::vector<double>& buckets,
                                   const MetricLabels& labels = {});

  /// Everything in the Prometheus text format.
  std::string text() const;

 private:
  MetricLabels constant_;
  std::shared_ptr<prometheus::Registry> registry_ =
      std::make_shared<prometheus::Registry>(prometheus::Registry::InsertBehavior::Merge);
};

/// Upper bounds for durations in seconds, 5 ms to 10 min.
std::vector<double> seconds_buckets();

}  // namespace swage
