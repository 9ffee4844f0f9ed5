#include "gpu_pool/judge/core/weights.hpp"

#include <cmath>
#include <vector>

#include "gpu_pool/judge/core/recipe.hpp"

namespace swage::judge {
namespace {

struct Moments {
  double first = 0;
  double deviation = 0;
  bool constant = true;
};

Moments moments_of(ElementType type, std::span<const std::byte> values) {
  const std::size_t size = size_of(type);
  const std::size_t count = values.size() / size;
  Moments out;
  out.first = load_element(type, values.data());
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = load_element(type, values.data() + i * size);
    out.constant = out.constant && value == out.first;
    sum += value;
    squares += value * value;
  }
  const auto n = static_cast<double>(count);
  const double mean = sum / n;
  out.deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
  return out;
}

Recipe replacement(std::string_view name, double constant) {
  if (name.ends_with("running_var")) return {Law::uniform, 0.5, 2};
  if (constant == 0) return {Law::normal, 0, 0.2};
  return {Law::uniform, std::min(0.5 * constant, 1.5 * constant),
          std::max(0.5 * constant, 1.5 * constant)};
}

}  // namespace

void perturb_weights(std::string_view name, ElementType type, std::uint64_t key,
                     std::span<std::byte> values) {
  const std::size_t size = size_of(type);
  const std::size_t count = values.size() / size;
  if (!is_floating(type) || count == 0) return;
  const Moments moments = moments_of(type, values);
  if (moments.constant) return fill(replacement(name, moments.first), type, key, values, 0, count);
  std::vector<float> scale(count);
  std::vector<float> noise(count);
  fill({Law::uniform, 0.9, 1.1}, ElementType::float32, key,
       std::as_writable_bytes(std::span(scale)), 0, count);
  fill({Law::normal, 0, 0.05 * moments.deviation}, ElementType::float32, key ^ 0x5DEECE66DULL,
       std::as_writable_bytes(std::span(noise)), 0, count);
  for (std::size_t i = 0; i < count; ++i) {
    const double old = load_element(type, values.data() + i * size);
    const double made = old * static_cast<double>(scale[i]) + static_cast<double>(noise[i]);
    store_element(type, made, values.data() + i * size);
  }
}

}  // namespace swage::judge
