#include "common/metrics/metrics.hpp"

#include <prometheus/text_serializer.h>

namespace swage {

prometheus::Counter& Metrics::counter(const std::string& name, const std::string& help,
                                      const MetricLabels& labels) {
  return prometheus::BuildCounter()
      .Name(name)
      .Help(help)
      .Labels(constant_)
      .Register(*registry_)
      .Add(labels);
}

prometheus::Gauge& Metrics::gauge(const std::string& name, const std::string& help,
                                  const MetricLabels& labels) {
  return prometheus::BuildGauge()
      .Name(name)
      .Help(help)
      .Labels(constant_)
      .Register(*registry_)
      .Add(labels);
}

prometheus::Histogram& Metrics::histogram(const std::string& name, const std::string& help,
                                          const std::vector<double>& buckets,
                                          const MetricLabels& labels) {
  return prometheus::BuildHistogram()
      .Name(name)
      .Help(help)
      .Labels(constant_)
      .Register(*registry_)
      .Add(labels, prometheus::Histogram::BucketBoundaries(buckets.begin(), buckets.end()));
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(registry_->Collect());
}

std::vector<double> seconds_buckets() {
  return {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600};
}

}  // namespace swage
