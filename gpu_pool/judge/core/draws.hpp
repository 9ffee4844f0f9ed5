#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "gpu_pool/judge/core/recipe.hpp"

namespace swage::judge {

// What fill() makes floats of, one number at a time: written once for the processor and the GPU.
// The two may round differently; all that must agree is the distribution.

/// A Philox call gives four words: lane i of a block makes its elements i, i + kLanes, and so on.
inline constexpr std::size_t kLanes = kFillBlock / 4;

struct PhiloxWords {
  std::uint32_t words[4];
};

/// Philox4x32-10, as swage::philox with a counter of 64 bits.
constexpr PhiloxWords philox_words(std::uint64_t key, std::uint64_t counter) {
  std::uint32_t c0 = static_cast<std::uint32_t>(counter);
  std::uint32_t c1 = static_cast<std::uint32_t>(counter >> 32U);
  std::uint32_t c2 = 0;
  std::uint32_t c3 = 0;
  std::uint32_t key0 = static_cast<std::uint32_t>(key);
  std::uint32_t key1 = static_cast<std::uint32_t>(key >> 32U);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * c0;
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32U) ^ c1 ^ key0;
    c2 = static_cast<std::uint32_t>(product0 >> 32U) ^ c3 ^ key1;
    c1 = static_cast<std::uint32_t>(product1);
    c3 = static_cast<std::uint32_t>(product0);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
}

/// ln(x) for x in (0, 1], error below 1e-6: the exponent, and a polynomial in (m - 1) / (m + 1).
constexpr float fast_log(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t adjusted = bits - 0x3F3504F3U;  // mantissa in [sqrt(1/2), sqrt(2))
  const auto exponent = static_cast<float>(static_cast<std::int32_t>(adjusted) >> 23);
  const float m = std::bit_cast<float>((adjusted & 0x007FFFFFU) + 0x3F3504F3U);
  const float s = (m - 1.0F) / (m + 1.0F);
  const float z = s * s;
  const float series = 2.0F * s * (1.0F + z * (0.33333333F + z * (0.2F + z * 0.14285714F)));
  return exponent * 0.69314718F + series;
}

/// sin of 2 pi u for u in [-1/2, 1/2), error below 1e-5, by folding into a quarter turn.
constexpr float fast_sine(float u) {
  const float a = u < 0 ? -u : u;
  const float folded = a > 0.25F ? 0.5F - a : a;  // sine is symmetric about a quarter turn
  const float x = folded * 6.2831853F;
  const float z = x * x;
  const float value =
      x * (1.0F +
           z * (-1.6666667e-1F + z * (8.3333310e-3F + z * (-1.9840874e-4F + z * 2.7525562e-6F))));
  return u < 0 ? -value : value;
}

/// Box and Muller: the square of the radius by one word. The caller takes the root.
constexpr float squared_radius(std::uint32_t word) {
  const float open_unit = (static_cast<float>(word >> 8U) + 1.0F) * 0x1.0p-24F;  // (0, 1]
  return -2.0F * fast_log(open_unit);
}

struct Direction {
  float sine;
  float cosine;
};

/// Box and Muller: the direction by another word.
constexpr Direction direction(std::uint32_t word) {
  const float u = static_cast<float>(static_cast<std::int32_t>(word) >> 8) * 0x1.0p-24F;
  const float shifted = u + 0.25F;
  return {fast_sine(u), fast_sine(shifted >= 0.5F ? shifted - 1.0F : shifted)};
}

/// [low, high).
constexpr float uniform_value(std::uint32_t word, float low, float high) {
  const float value = low + static_cast<float>(word >> 8U) * ((high - low) * 0x1.0p-24F);
  return value < high ? value : low;  // rounding must not reach the open end
}

}  // namespace swage::judge
