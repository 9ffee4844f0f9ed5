#include "gpu_pool/judge/core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/check.hpp"

namespace swage::judge {

double median(std::vector<double> values) {
  check(!values.empty(), "a median needs a value");
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double coefficient_of_variation(std::span<const double> values) {
  check(!values.empty(), "a deviation needs a value");
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return values.size() > 1 ? std::sqrt(squares / (n - 1)) / mean : 0;
}

Interval order_interval(std::vector<double> values, std::size_t j) {
  check(j >= 1 && 2 * j <= values.size() + 1, "no such order statistic");
  std::ranges::sort(values);
  return {median(values), values[j - 1], values[values.size() - j]};
}

std::size_t order_index(std::size_t n) {
  check(n >= kFewestRounds, "too few values for an interval");
  // The interval misses when fewer than j values lie on one side: twice the binomial tail.
  double term = std::exp2(-static_cast<double>(n));
  double missed = 0;
  std::size_t j = 0;
  while (missed + 2 * term <= 0.05) {
    missed += 2 * term;
    term *= static_cast<double>(n - j) / static_cast<double>(j + 1);
    ++j;
  }
  return j;
}

bool decided(const Interval& q) { return q.hi < kFasterRatio || q.lo >= kFasterRatio; }

double ks_distance(std::vector<float> a, std::vector<float> b) {
  check(!a.empty() && !b.empty(), "a distance needs two samples");
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::size_t i = 0;
  std::size_t k = 0;
  double most = 0;
  while (i < a.size() && k < b.size()) {
    const float at = std::min(a[i], b[k]);
    while (i < a.size() && a[i] <= at) ++i;
    while (k < b.size() && b[k] <= at) ++k;
    const double fa = static_cast<double>(i) / static_cast<double>(a.size());
    const double fb = static_cast<double>(k) / static_cast<double>(b.size());
    most = std::max(most, std::fabs(fa - fb));
  }
  return most;
}

}  // namespace swage::judge
