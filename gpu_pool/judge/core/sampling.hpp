#pragma once

#include <cstdint>

namespace swage::judge {

/// Bytes of one sampled piece.
inline constexpr std::uint64_t kSampleBytes = 4;

/// Where, in bytes from the start, sample `i` of a range of `bytes` >= kSampleBytes lies: positions
/// that nobody can know who does not know `seed`, equal on every kind of device. Pieces may
/// overlap.
constexpr std::uint64_t sample_position(std::uint64_t seed, std::uint64_t i, std::uint64_t bytes) {
  std::uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15ULL;  // SplitMix64
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  z ^= z >> 31U;
  return z % (bytes - kSampleBytes + 1);
}

}  // namespace swage::judge
