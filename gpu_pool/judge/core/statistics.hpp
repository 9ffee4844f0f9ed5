#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace swage::judge {

/// Median; the mean of the middle two for an even count. `values` is not empty.
double median(std::vector<double> values);

/// Standard deviation over mean. `values` is not empty.
double coefficient_of_variation(std::span<const double> values);

/// A median with its interval by order statistics.
struct Interval {
  double median = 0;
  double lo = 0;  ///< the j-th smallest
  double hi = 0;  ///< the j-th largest
};
/// j counts from 1; 2j <= size + 1.
Interval order_interval(std::vector<double> values, std::size_t j);

/// With fewer values there is no interval of 95 %.
inline constexpr std::size_t kFewestRounds = 6;

/// The largest j whose interval [j-th smallest, j-th largest] of n values, n >= 6, holds the true
/// median with a probability of at least 95 %.
std::size_t order_index(std::size_t n);

/// After how many valid rounds the stopping rule looks, and which order statistics it takes.
struct Look {
  std::uint32_t rounds;
  std::size_t j;
};

/// `faster` means at least 5 % faster: a ratio wholly below this.
inline constexpr double kFasterRatio = 0.95;

/// True when the interval lies wholly on one side of 0.95.
bool decided(const Interval& q);

/// Kolmogorov-Smirnov distance between two samples, in [0, 1]. Sorts them.
double ks_distance(std::vector<float> a, std::vector<float> b);

}  // namespace swage::judge
