#include "gpu_pool/judge/core/recipe.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "common/base/check.hpp"
#include "common/base/philox.hpp"
#include "gpu_pool/judge/core/draws.hpp"

namespace swage::judge {
namespace {

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

/// Standard normal by Box and Muller: words i and i + half make two values.
void normal_block(const Words& words, float mean, float deviation, Floats& out) {
  constexpr std::size_t kHalf = kFillBlock / 2;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const float radius = std::sqrt(squared_radius(words[i])) * deviation;
    const Direction to = direction(words[kHalf + i]);
    out[i] = mean + radius * to.sine;
    out[kHalf + i] = mean + radius * to.cosine;
  }
}

void uniform_block(const Words& words, float low, float high, Floats& out) {
  for (std::size_t i = 0; i < kFillBlock; ++i) out[i] = uniform_value(words[i], low, high);
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
