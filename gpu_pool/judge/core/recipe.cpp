#include "gpu_pool/judge/core/recipe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "common/base/check.hpp"
#include "common/base/philox.hpp"

namespace swage::judge {
namespace {

constexpr std::size_t kLanes = kFillBlock / 4;  // one Philox call gives four words

using Words = std::array<std::uint32_t, kFillBlock>;
using Floats = std::array<float, kFillBlock>;

/// Philox4x32-10 for the counters first .. first + kLanes - 1, ordered so that each of the four
/// output words fills a quarter of `out`. The same function as swage::philox, laid out so that the
/// compiler can use vector instructions.
void philox_block(std::uint64_t key, std::uint64_t first, Words& out) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::size_t kStep = 16;
  for (std::size_t base = 0; base < kLanes; base += kStep) {
    std::uint32_t c0[kStep];
    std::uint32_t c1[kStep];
    std::uint32_t c2[kStep];
    std::uint32_t c3[kStep];
    for (std::size_t i = 0; i < kStep; ++i) {
      const std::uint64_t counter = first + base + i;
      c0[i] = static_cast<std::uint32_t>(counter);
      c1[i] = static_cast<std::uint32_t>(counter >> 32);
      c2[i] = 0;
      c3[i] = 0;
    }
    auto key0 = static_cast<std::uint32_t>(key);
    auto key1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      for (std::size_t i = 0; i < kStep; ++i) {
        const std::uint64_t product0 = kMultiplier0 * c0[i];
        const std::uint64_t product1 = kMultiplier1 * c2[i];
        c0[i] = static_cast<std::uint32_t>(product1 >> 32) ^ c1[i] ^ key0;
        c2[i] = static_cast<std::uint32_t>(product0 >> 32) ^ c3[i] ^ key1;
        c1[i] = static_cast<std::uint32_t>(product1);
        c3[i] = static_cast<std::uint32_t>(product0);
      }
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    for (std::size_t i = 0; i < kStep; ++i) {
      out[base + i] = c0[i];
      out[kLanes + base + i] = c1[i];
      out[2 * kLanes + base + i] = c2[i];
      out[3 * kLanes + base + i] = c3[i];
    }
  }
}

/// ln(x) for x in (0, 1], error below 1e-6: the exponent, and a polynomial in (m - 1) / (m + 1).
inline float fast_log(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t adjusted = bits - 0x3F3504F3U;  // mantissa in [sqrt(1/2), sqrt(2))
  const auto exponent = static_cast<float>(static_cast<std::int32_t>(adjusted) >> 23);
  const float m = std::bit_cast<float>((adjusted & 0x007FFFFFU) + 0x3F3504F3U);
  const float s = (m - 1.0F) / (m + 1.0F);
  const float z = s * s;
  const float series = 2.0F * s * (1.0F + z * (0.33333333F + z * (0.2F + z * 0.14285714F)));
  return exponent * 0.69314718F + series;
}

/// sin and cos of 2 pi u for u in [-1/2, 1/2), error below 1e-5, by folding into a quarter turn.
inline float fast_sine(float u) {
  const float a = std::fabs(u);
  const float folded = a > 0.25F ? 0.5F - a : a;  // sine is symmetric about a quarter turn
  const float x = folded * 6.2831853F;
  const float z = x * x;
  const float value =
      x * (1.0F +
           z * (-1.6666667e-1F + z * (8.3333310e-3F + z * (-1.9840874e-4F + z * 2.7525562e-6F))));
  return u < 0 ? -value : value;
}

/// (0, 1], 24 bits.
inline float open_unit(std::uint32_t word) {
  return (static_cast<float>(word >> 8) + 1.0F) * 0x1.0p-24F;
}

/// Standard normal by Box and Muller: words i and i + half make two values.
void normal_block(const Words& words, float mean, float deviation, Floats& out) {
  constexpr std::size_t kHalf = kFillBlock / 2;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const float radius = std::sqrt(-2.0F * fast_log(open_unit(words[i]))) * deviation;
    const float u =
        static_cast<float>(static_cast<std::int32_t>(words[kHalf + i]) >> 8) * 0x1.0p-24F;
    const float shifted = u + 0.25F;
    const float cosine = fast_sine(shifted >= 0.5F ? shifted - 1.0F : shifted);
    out[i] = mean + radius * fast_sine(u);
    out[kHalf + i] = mean + radius * cosine;
  }
}

void uniform_block(const Words& words, float low, float high, Floats& out) {
  const float width = (high - low) * 0x1.0p-24F;
  for (std::size_t i = 0; i < kFillBlock; ++i) {
    const float value = low + static_cast<float>(words[i] >> 8) * width;
    out[i] = value < high ? value : low;  // rounding must not reach the open end
  }
}

/// Makes one block of any law as doubles; the slow path for the rarer types.
void general_block(const Recipe& recipe, const Words& words, std::span<double> out) {
  Floats floats;
  if (recipe.law == Law::normal) {
    normal_block(words, 0, 1, floats);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = recipe.a + recipe.b * static_cast<double>(floats[i]);
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double unit = static_cast<double>(words[i]) * 0x1.0p-32;
    const double value = recipe.a + unit * (recipe.b - recipe.a);
    if (recipe.law == Law::constant) out[i] = recipe.a;
    if (recipe.law == Law::uniform) out[i] = value;
    if (recipe.law == Law::randint) out[i] = std::floor(value);
  }
}

void fill_permutation(double count, ElementType type, std::uint64_t key,
                      std::span<std::byte> buffer) {
  std::vector<std::uint64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = order.size(); i > 1; --i) {
    const double unit = philox_uniform(key, 0, i);
    std::swap(order[i - 1], order[static_cast<std::size_t>(unit * static_cast<double>(i))]);
  }
  const std::size_t size = size_of(type);
  check(order.size() * size == buffer.size(), "a permutation fills its tensor");
  for (std::size_t i = 0; i < order.size(); ++i)
    store_element(type, static_cast<double>(order[i]), buffer.data() + i * size);
}

}  // namespace

std::optional<Law> law_of(std::string_view name) {
  if (name == "uniform") return Law::uniform;
  if (name == "normal") return Law::normal;
  if (name == "randint") return Law::randint;
  if (name == "perm") return Law::perm;
  if (name == "const") return Law::constant;
  return std::nullopt;
}

std::uint64_t derive_key(std::span<const std::byte, 32> root, std::uint64_t purpose,
                         std::uint64_t number) {
  std::uint64_t key = purpose * 0x9E3779B97F4A7C15ULL;
  for (std::size_t part = 0; part < 4; ++part) {
    std::uint64_t word = 0;
    std::memcpy(&word, root.data() + 8 * part, sizeof word);
    const auto mixed = philox(
        key ^ word, {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32),
                     static_cast<std::uint32_t>(purpose), static_cast<std::uint32_t>(part)});
    key = (std::uint64_t{mixed[0]} << 32) | mixed[1];
  }
  return key;
}

void fill(const Recipe& recipe, ElementType type, std::uint64_t key, std::span<std::byte> buffer,
          std::uint64_t begin, std::uint64_t end) {
  check(begin % kFillBlock == 0, "a range begins at a block");
  if (recipe.law == Law::perm) return fill_permutation(recipe.b, type, key, buffer);
  const std::size_t size = size_of(type);
  const bool fast =
      type == ElementType::float32 && (recipe.law == Law::normal || recipe.law == Law::uniform);
  Words words;
  Floats floats;
  std::array<double, kFillBlock> doubles;
  for (std::uint64_t at = begin; at < end; at += kFillBlock) {
    const auto count = static_cast<std::size_t>(std::min(kFillBlock, end - at));
    philox_block(key, at / kFillBlock * kLanes, words);
    if (fast) {
      const auto a = static_cast<float>(recipe.a);
      const auto b = static_cast<float>(recipe.b);
      if (recipe.law == Law::normal) normal_block(words, a, b, floats);
      if (recipe.law == Law::uniform) uniform_block(words, a, b, floats);
      std::memcpy(buffer.data() + at * size, floats.data(), count * size);
      continue;
    }
    general_block(recipe, words, std::span(doubles).first(count));
    for (std::size_t i = 0; i < count; ++i)
      store_element(type, doubles[i], buffer.data() + (at + i) * size);
  }
}

}  // namespace swage::judge
