#pragma once

#include <cstdint>
#include <vector>

#include "gpu_pool/judge/core/tensor.hpp"

namespace swage::judge {

/// Walks the row-major indices of one shape under two stride sets, from index `begin` on. Borrows
/// shape and strides; the shape has no dimension of size 0.
class TensorWalk {
 public:
  TensorWalk(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& a,
             const std::vector<std::int64_t>& b, std::uint64_t begin)
      : shape_(shape), a_(a), b_(b), index_(shape.size()) {
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
  std::int64_t at_a = 0;  ///< elements from the first, under the first stride set
  std::int64_t at_b = 0;

 private:
  const std::vector<std::int64_t>& shape_;
  const std::vector<std::int64_t>& a_;
  const std::vector<std::int64_t>& b_;
  std::vector<std::int64_t> index_;
};

}  // namespace swage::judge
