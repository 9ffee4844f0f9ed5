#pragma once

#include <cstdint>
#include <span>

#include "gpu_pool/judge/core/tensor.hpp"

namespace swage::judge {

/// |c - e| <= absolute + relative * |e|.
struct Tolerance {
  double absolute = 1e-2;
  double relative = 1e-2;
};

/// What comparing two tensors found. Sums up over parts by merge().
struct Comparison {
  std::uint64_t elements = 0;
  std::uint64_t outside = 0;    ///< elements beyond the tolerance; NaN counts as beyond
  std::uint64_t nonfinite = 0;  ///< candidate not finite where expected is
  std::uint64_t expected_nonfinite = 0;
  double max_abs = 0;  ///< largest finite |c - e|
  bool passed() const { return outside == 0; }
};
Comparison merge(const Comparison& a, const Comparison& b);

/// Compares the elements [begin, end) in row-major order. The specs have the same type and shape;
/// strides may differ. Equal infinities pass, NaN never does, not even against NaN.
Comparison compare(const TensorView& candidate, const TensorView& expected, Tolerance tolerance,
                   std::uint64_t begin, std::uint64_t end);

/// The comparison of the guard `exact` switched off: element by element in row-major order,
/// whatever types and shapes are, as far as the shorter one goes.
Comparison compare_loosely(const TensorView& candidate, const TensorView& expected,
                           Tolerance tolerance);

}  // namespace swage::judge
