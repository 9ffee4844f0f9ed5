#pragma once

#include <array>
#include <cstdint>

namespace swage {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): four
/// independent 32-bit words that depend on nothing but key and counter.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::array<std::uint32_t, 4> counter);

/// Uniform in [0, 1) with 53 bits, from (seed, stream, position).
double philox_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t position);

}  // namespace swage
