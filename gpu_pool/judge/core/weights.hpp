#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "gpu_pool/judge/core/element_type.hpp"

namespace swage::judge {

/// Turns a model's own initial value of one state tensor into one that nobody can know: floating
/// tensors become w (1 + 0.1 u) + 0.05 s n, with s their standard deviation, u in (-1, 1) and n
/// normal; constant ones are replaced (running_var: U(0.5, 2); ones: U(0.5, 1.5); zeros: N(0, 0.2);
/// another constant c: c U(0.5, 1.5)). Integers stay. `values` is a flat buffer, changed in place.
void perturb_weights(std::string_view name, ElementType type, std::uint64_t key,
                     std::span<std::byte> values);

}  // namespace swage::judge
