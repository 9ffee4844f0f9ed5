#include "gpu_pool/judge/core/tensor.hpp"

namespace swage::judge {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 48;  // elements; beyond any memory

/// a * b, or nothing beyond kMost.
std::optional<std::uint64_t> bounded_product(std::uint64_t a, std::uint64_t b) {
  if (a != 0 && b > kMost / a) return std::nullopt;
  return a * b;
}

}  // namespace

std::optional<std::uint64_t> element_count(const TensorSpec& spec) {
  std::uint64_t count = 1;
  for (const auto size : spec.shape) {
    if (size < 0) return std::nullopt;
    const auto product = bounded_product(count, static_cast<std::uint64_t>(size));
    if (!product) return std::nullopt;
    count = *product;
  }
  return count;
}

std::optional<std::uint64_t> span_elements(const TensorSpec& spec) {
  const auto count = element_count(spec);
  if (!count || spec.stride.size() != spec.shape.size()) return std::nullopt;
  for (const auto stride : spec.stride)
    if (stride < 0) return std::nullopt;
  if (*count == 0) return 0;
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < spec.shape.size(); ++i) {
    const auto step = bounded_product(static_cast<std::uint64_t>(spec.shape[i] - 1),
                                      static_cast<std::uint64_t>(spec.stride[i]));
    if (!step) return std::nullopt;
    last += *step;
    if (last > kMost) return std::nullopt;
  }
  return last + 1;
}

std::vector<std::int64_t> contiguous_stride(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> stride(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    stride[i] = step;
    step *= shape[i] > 0 ? shape[i] : 1;
  }
  return stride;
}

bool is_contiguous(const TensorSpec& spec) {
  const auto expected = contiguous_stride(spec.shape);
  if (expected.size() != spec.stride.size()) return false;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (spec.shape[i] != 1 && spec.stride[i] != expected[i]) return false;
  return true;
}

std::string describe(const TensorSpec& spec) {
  std::string text(name_of(spec.type));
  text += '[';
  for (std::size_t i = 0; i < spec.shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(spec.shape[i]);
  }
  return text + ']';
}

}  // namespace swage::judge
