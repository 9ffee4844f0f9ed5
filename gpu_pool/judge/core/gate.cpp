#include "gpu_pool/judge/core/gate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/base/check.hpp"
#include "gpu_pool/judge/core/tensor_walk.hpp"

namespace swage::judge {
namespace {

constexpr std::size_t kLanes = 16;

/// Sums of kLanes independent columns, so that the compiler can use vector instructions.
struct LaneSums {
  std::array<std::uint32_t, kLanes> inside{};
  std::array<std::uint32_t, kLanes> finite_expected{};
  std::array<std::uint32_t, kLanes> finite_both{};
  std::array<float, kLanes> largest{};

  /// Takes one element of each column. No branches, and comparisons that are false for NaN.
  void add(const float* c, const float* e, float absolute, float relative) {
    constexpr float kMost = std::numeric_limits<float>::max();
    for (std::size_t i = 0; i < kLanes; ++i) {
      const float difference = std::fabs(c[i] - e[i]);
      const float size = std::fabs(e[i]);
      const std::uint32_t near = difference <= absolute + relative * size ? 1 : 0;
      const std::uint32_t equal = c[i] == e[i] ? 1 : 0;
      const std::uint32_t expected_ok = size <= kMost ? 1 : 0;
      const std::uint32_t ok = std::fabs(c[i]) <= kMost ? 1 : 0;
      inside[i] += (near & expected_ok & ok) | (equal & (expected_ok ^ 1U));
      finite_expected[i] += expected_ok;
      finite_both[i] += expected_ok & ok;
      const float counted = difference <= kMost ? difference : 0.0F;
      largest[i] = counted > largest[i] ? counted : largest[i];
    }
  }
};

/// The common case. The last, incomplete row of lanes is left to the caller.
Comparison compare_float32(const float* c, const float* e, std::uint64_t rows,
                           Tolerance tolerance) {
  const auto absolute = static_cast<float>(tolerance.absolute);
  const auto relative = static_cast<float>(tolerance.relative);
  constexpr std::uint64_t kRowsAtOnce = 1U << 20;  // far from overflow of the 32-bit sums
  Comparison out;
  for (std::uint64_t done = 0; done < rows; done += kRowsAtOnce) {
    const std::uint64_t end = std::min(rows, done + kRowsAtOnce);
    LaneSums sums;
    for (std::uint64_t row = done; row < end; ++row)
      sums.add(c + row * kLanes, e + row * kLanes, absolute, relative);
    const std::uint64_t step = (end - done) * kLanes;
    const std::uint64_t expected =
        std::accumulate(sums.finite_expected.begin(), sums.finite_expected.end(), std::uint64_t{0});
    out.elements += step;
    out.outside += step - std::accumulate(sums.inside.begin(), sums.inside.end(), std::uint64_t{0});
    out.expected_nonfinite += step - expected;
    out.nonfinite += expected - std::accumulate(sums.finite_both.begin(), sums.finite_both.end(),
                                                std::uint64_t{0});
    out.max_abs = std::max<double>(out.max_abs, *std::ranges::max_element(sums.largest));
  }
  return out;
}

void compare_one(double c, double e, Tolerance tolerance, Comparison& out) {
  const double difference = std::fabs(c - e);
  const bool expected_ok = std::isfinite(e);
  const bool ok = std::isfinite(c);
  const bool near = difference <= tolerance.absolute + tolerance.relative * std::fabs(e);
  ++out.elements;
  if (!((near && expected_ok && ok) || (c == e && !expected_ok))) ++out.outside;
  if (!expected_ok) ++out.expected_nonfinite;
  if (expected_ok && !ok) ++out.nonfinite;
  if (std::isfinite(difference)) out.max_abs = std::max(out.max_abs, difference);
}

}  // namespace

Comparison merge(const Comparison& a, const Comparison& b) {
  return {a.elements + b.elements, a.outside + b.outside, a.nonfinite + b.nonfinite,
          a.expected_nonfinite + b.expected_nonfinite, std::max(a.max_abs, b.max_abs)};
}

Comparison compare(const TensorView& candidate, const TensorView& expected, Tolerance tolerance,
                   std::uint64_t begin, std::uint64_t end) {
  check(
      candidate.spec->type == expected.spec->type && candidate.spec->shape == expected.spec->shape,
      "only equal shapes and types are compared");
  if (begin >= end) return {};
  const ElementType type = expected.spec->type;
  const std::size_t size = size_of(type);
  if (type == ElementType::float32 && is_contiguous(*candidate.spec) &&
      is_contiguous(*expected.spec)) {
    const auto* c = reinterpret_cast<const float*>(candidate.data) + begin;
    const auto* e = reinterpret_cast<const float*>(expected.data) + begin;
    Comparison out = compare_float32(c, e, (end - begin) / kLanes, tolerance);
    for (std::uint64_t i = (end - begin) / kLanes * kLanes; i < end - begin; ++i)
      compare_one(static_cast<double>(c[i]), static_cast<double>(e[i]), tolerance, out);
    return out;
  }
  Comparison out;
  TensorWalk walk(expected.spec->shape, candidate.spec->stride, expected.spec->stride, begin);
  for (std::uint64_t i = begin; i < end; ++i, walk.next()) {
    const double c =
        load_element(type, candidate.data + static_cast<std::size_t>(walk.at_a) * size);
    const double e = load_element(type, expected.data + static_cast<std::size_t>(walk.at_b) * size);
    compare_one(c, e, tolerance, out);
  }
  return out;
}

Comparison compare_loosely(const TensorView& candidate, const TensorView& expected,
                           Tolerance tolerance) {
  const auto count = std::min(element_count(*candidate.spec), element_count(*expected.spec));
  Comparison out;
  for (std::uint64_t i = 0; i < count.value_or(0); ++i) {
    const TensorWalk mine(candidate.spec->shape, candidate.spec->stride, candidate.spec->stride, i);
    const TensorWalk theirs(expected.spec->shape, expected.spec->stride, expected.spec->stride, i);
    const auto load = [](const TensorView& view, std::int64_t at) {
      const auto offset = static_cast<std::size_t>(at) * size_of(view.spec->type);
      return load_element(view.spec->type, view.data + offset);
    };
    compare_one(load(candidate, mine.at_a), load(expected, theirs.at_a), tolerance, out);
  }
  return out;
}

}  // namespace swage::judge
