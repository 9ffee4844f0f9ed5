#pragma once

#include <cstdint>

#include "gpu_pool/judge/core/gate.hpp"

namespace swage::judge {

/// How far a result is from the same computation in double precision.
struct PrecisionError {
  double relative_l2 = 0;  ///< |c - r| / |r| over the whole tensor, in the 2-norm
  double worst = 0;        ///< max |c - r| / (|r| + rms r)
  bool close = true;       ///< every element is finite, and within `tolerance` of the reference
};
PrecisionError merge(const PrecisionError& a, const PrecisionError& b);

/// result and reference have one shape; types and strides may differ.
PrecisionError precision_error(const TensorView& result, const TensorView& reference,
                               Tolerance tolerance);

/// The limits of the precision rule for a candidate, from eager's own errors (design judge.md,
/// section 3): k times eager's, and never below what --use_fast_math costs. k is 8, and 2 for
/// results of 16 bits.
struct PrecisionLimit {
  double relative_l2 = 0;
  double worst = 0;
};
PrecisionLimit precision_limit(const PrecisionError& eager, ElementType type);
bool within(const PrecisionError& candidate, const PrecisionLimit& limit);

}  // namespace swage::judge
