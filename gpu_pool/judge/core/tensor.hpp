#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu_pool/judge/core/element_type.hpp"

namespace swage::judge {

/// Shape, strides (in elements, not negative) and type of a tensor.
struct TensorSpec {
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;
  bool operator==(const TensorSpec&) const = default;
};

/// A tensor in memory that the judge has mapped. Borrows `data`.
struct TensorView {
  const TensorSpec* spec = nullptr;
  const std::byte* data = nullptr;
};

/// Number of elements; nothing when a size is negative or the product does not fit.
std::optional<std::uint64_t> element_count(const TensorSpec& spec);

/// Elements from the first to the end of the last, gaps included, 0 if there is none; nothing when
/// shape and stride disagree, are negative or overflow.
std::optional<std::uint64_t> span_elements(const TensorSpec& spec);

/// Row-major without gaps (dimensions of size 1 may have any stride).
bool is_contiguous(const TensorSpec& spec);
std::vector<std::int64_t> contiguous_stride(const std::vector<std::int64_t>& shape);

/// "float32[4, 8]", for people.
std::string describe(const TensorSpec& spec);

}  // namespace swage::judge
