#include "gpu_pool/judge/core/precision.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/check.hpp"
#include "gpu_pool/judge/core/tensor_walk.hpp"

namespace swage::judge {
namespace {

constexpr double kL2Floor = 8e-6;
constexpr double kWorstFloor = 1.2e-4;

double load(const TensorView& view, std::int64_t at) {
  const auto offset = static_cast<std::size_t>(at) * size_of(view.spec->type);
  return load_element(view.spec->type, view.data + offset);
}

}  // namespace

PrecisionError merge(const PrecisionError& a, const PrecisionError& b) {
  return {std::max(a.relative_l2, b.relative_l2), std::max(a.worst, b.worst), a.close && b.close};
}

PrecisionError precision_error(const TensorView& result, const TensorView& reference,
                               Tolerance tolerance) {
  check(result.spec->shape == reference.spec->shape, "only equal shapes are compared");
  const std::uint64_t count = element_count(*reference.spec).value_or(0);
  PrecisionError out;
  if (count == 0) return out;
  double squares = 0;
  double differences = 0;
  TensorWalk first(reference.spec->shape, result.spec->stride, reference.spec->stride, 0);
  for (std::uint64_t i = 0; i < count; ++i, first.next()) {
    const double c = load(result, first.at_a);
    const double r = load(reference, first.at_b);
    const double difference = std::fabs(c - r);
    squares += r * r;
    differences += difference * difference;
    if (!(difference <= tolerance.absolute + tolerance.relative * std::fabs(r))) out.close = false;
  }
  out.relative_l2 = squares > 0 ? std::sqrt(differences / squares) : std::sqrt(differences);
  const double rms = std::sqrt(squares / static_cast<double>(count));
  TensorWalk second(reference.spec->shape, result.spec->stride, reference.spec->stride, 0);
  for (std::uint64_t i = 0; i < count; ++i, second.next()) {
    const double r = load(reference, second.at_b);
    const double scale = std::fabs(r) + rms;
    const double difference = std::fabs(load(result, second.at_a) - r);
    if (scale > 0) out.worst = std::max(out.worst, difference / scale);
  }
  return out;
}

PrecisionLimit precision_limit(const PrecisionError& eager, ElementType type) {
  const double k = size_of(type) == 2 && is_floating(type) ? 2 : 8;
  return {std::max(k * eager.relative_l2, kL2Floor), std::max(k * eager.worst, kWorstFloor)};
}

bool within(const PrecisionError& candidate, const PrecisionLimit& limit) {
  return candidate.relative_l2 <= limit.relative_l2 && candidate.worst <= limit.worst;
}

}  // namespace swage::judge
