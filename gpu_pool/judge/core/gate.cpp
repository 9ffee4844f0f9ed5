#include "gpu_pool/judge/core/gate.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/base/check.hpp"

namespace swage::judge {
namespace {

/// The common case, written so that the compiler can use vector instructions: no branches, and
/// comparisons that are false for NaN.
Comparison compare_float32(const float* c, const float* e, std::uint64_t count,
                           Tolerance tolerance) {
  const auto absolute = static_cast<float>(tolerance.absolute);
  const auto relative = static_cast<float>(tolerance.relative);
  constexpr float kMost = std::numeric_limits<float>::max();
  Comparison out;
  out.elements = count;
  float largest = 0;
  std::uint64_t done = 0;
  while (done < count) {
    const std::uint64_t step = std::min<std::uint64_t>(count - done, 1U << 16);
    std::uint32_t inside = 0;
    std::uint32_t finite_both = 0;
    std::uint32_t finite_expected = 0;
    for (std::uint64_t i = done; i < done + step; ++i) {
      const float difference = std::fabs(c[i] - e[i]);
      const bool near = difference <= absolute + relative * std::fabs(e[i]);
      const bool expected_ok = std::fabs(e[i]) <= kMost;
      const bool ok = std::fabs(c[i]) <= kMost;
      inside += static_cast<std::uint32_t>((near & expected_ok & ok) |
                                           ((c[i] == e[i]) & !expected_ok));
      finite_expected += static_cast<std::uint32_t>(expected_ok);
      finite_both += static_cast<std::uint32_t>(expected_ok & ok);
      largest = difference <= kMost && difference > largest ? difference : largest;
    }
    out.outside += step - inside;
    out.expected_nonfinite += step - finite_expected;
    out.nonfinite += finite_expected - finite_both;
    done += step;
  }
  out.max_abs = largest;
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

/// Walks row-major indices of one shape under two stride sets.
class Walk {
 public:
  Walk(const TensorSpec& spec, const std::vector<std::int64_t>& a,
       const std::vector<std::int64_t>& b, std::uint64_t begin)
      : shape_(spec.shape), a_(a), b_(b), index_(spec.shape.size()) {
    for (std::size_t i = shape_.size(); i-- > 0;) {
      const auto size = static_cast<std::uint64_t>(shape_[i]);
      index_[i] = static_cast<std::int64_t>(begin % size);
      begin /= size;
      at_a += index_[i] * a_[i];
      at_b += index_[i] * b_[i];
    }
  }
  void next() {
    for (std::size_t i = shape_.size(); i-- > 0;) {
      at_a += a_[i];
      at_b += b_[i];
      if (++index_[i] < shape_[i]) return;
      at_a -= a_[i] * shape_[i];
      at_b -= b_[i] * shape_[i];
      index_[i] = 0;
    }
  }
  std::int64_t at_a = 0;
  std::int64_t at_b = 0;

 private:
  const std::vector<std::int64_t>& shape_;
  const std::vector<std::int64_t>& a_;
  const std::vector<std::int64_t>& b_;
  std::vector<std::int64_t> index_;
};

}  // namespace

Comparison merge(const Comparison& a, const Comparison& b) {
  return {a.elements + b.elements, a.outside + b.outside, a.nonfinite + b.nonfinite,
          a.expected_nonfinite + b.expected_nonfinite, std::max(a.max_abs, b.max_abs)};
}

Comparison compare(const TensorView& candidate, const TensorView& expected, Tolerance tolerance,
                   std::uint64_t begin, std::uint64_t end) {
  check(candidate.spec->type == expected.spec->type &&
            candidate.spec->shape == expected.spec->shape,
        "only equal shapes and types are compared");
  if (begin >= end) return {};
  const ElementType type = expected.spec->type;
  const std::size_t size = size_of(type);
  if (type == ElementType::float32 && is_contiguous(*candidate.spec) &&
      is_contiguous(*expected.spec)) {
    const auto* c = reinterpret_cast<const float*>(candidate.data) + begin;
    const auto* e = reinterpret_cast<const float*>(expected.data) + begin;
    return compare_float32(c, e, end - begin, tolerance);
  }
  Comparison out;
  Walk walk(*expected.spec, candidate.spec->stride, expected.spec->stride, begin);
  for (std::uint64_t i = begin; i < end; ++i, walk.next()) {
    const double c = load_element(type, candidate.data + static_cast<std::size_t>(walk.at_a) * size);
    const double e = load_element(type, expected.data + static_cast<std::size_t>(walk.at_b) * size);
    compare_one(c, e, tolerance, out);
  }
  return out;
}

bool has_nonfinite(ElementType type, std::span<const std::byte> elements) {
  if (!is_floating(type)) return false;
  const std::size_t size = size_of(type);
  for (std::size_t at = 0; at + size <= elements.size(); at += size)
    if (!std::isfinite(load_element(type, elements.data() + at))) return true;
  return false;
}

}  // namespace swage::judge
