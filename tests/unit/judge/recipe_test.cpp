#include "gpu_pool/judge/core/recipe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "common/base/philox.hpp"
#include "gpu_pool/judge/core/draws.hpp"
#include "gpu_pool/judge/core/statistics.hpp"

namespace swage::judge {
namespace {

constexpr std::size_t kMany = 1U << 20;

std::vector<float> draw(const Recipe& recipe, std::size_t count, std::uint64_t key) {
  std::vector<float> out(count);
  fill(recipe, ElementType::float32, key, std::as_writable_bytes(std::span(out)), 0, count);
  return out;
}

TEST(Fill, ANormalRecipeIsNormal) {
  std::mt19937_64 engine(7);
  std::normal_distribution<float> normal(1.0F, 2.0F);
  std::vector<float> expected(kMany);
  std::ranges::generate(expected, [&] { return normal(engine); });
  EXPECT_LT(ks_distance(draw({Law::normal, 1, 2}, kMany, 42), expected), 0.005);
  EXPECT_GT(ks_distance(draw({Law::normal, 1, 1.9}, kMany, 42), expected), 0.005);
}

TEST(Fill, AUniformRecipeStaysInItsBounds) {
  const auto values = draw({Law::uniform, -3, 5}, kMany, 1);
  EXPECT_GE(*std::ranges::min_element(values), -3.0F);
  EXPECT_LT(*std::ranges::max_element(values), 5.0F);
  std::mt19937_64 engine(3);
  std::uniform_real_distribution<float> uniform(-3.0F, 5.0F);
  std::vector<float> expected(kMany);
  std::ranges::generate(expected, [&] { return uniform(engine); });
  EXPECT_LT(ks_distance(values, expected), 0.005);
}

/// What a GPU does by itself: one lane of the block.
TEST(Fill, ALaneAloneMakesTheElementsOfItsLane) {
  const auto normals = draw({Law::normal, 3, 2}, 3 * kFillBlock, 77);
  const auto uniforms = draw({Law::uniform, -1, 4}, 3 * kFillBlock, 77);
  for (const std::uint64_t lane : {0UL, 1UL, 1023UL, 1024UL, 2500UL}) {
    const PhiloxWords drawn = philox_words(77, lane);
    const auto& words = drawn.words;
    const std::uint64_t first = lane / kLanes * kFillBlock + lane % kLanes;
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(uniforms[first + i * kLanes], uniform_value(words[i], -1, 4), 1e-6);
    for (std::size_t i = 0; i < 2; ++i) {
      const float radius = 2 * std::sqrt(squared_radius(words[i]));
      const Direction to = direction(words[i + 2]);
      EXPECT_NEAR(normals[first + i * kLanes], 3 + radius * to.sine, 1e-5);
      EXPECT_NEAR(normals[first + (i + 2) * kLanes], 3 + radius * to.cosine, 1e-5);
    }
  }
}

TEST(Fill, IntegersReachEachValueAndNoOther) {
  std::vector<std::int64_t> out(4096);
  fill({Law::randint, -2, 3}, ElementType::int64, 9, std::as_writable_bytes(std::span(out)), 0,
       out.size());
  EXPECT_EQ(std::set<std::int64_t>(out.begin(), out.end()),
            (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
}

TEST(Fill, APermutationHoldsEachNumberOnce) {
  std::vector<std::int64_t> out(1000);
  fill({Law::perm, 0, 1000}, ElementType::int64, 9, std::as_writable_bytes(std::span(out)), 0,
       out.size());
  EXPECT_FALSE(std::ranges::is_sorted(out));
  EXPECT_EQ(std::set<std::int64_t>(out.begin(), out.end()).size(), 1000U);
}

TEST(Fill, DoesNotDependOnHowTheRangeIsDivided) {
  const std::size_t count = 3 * kFillBlock + 100;
  const auto whole = draw({Law::normal, 0, 1}, count, 5);
  std::vector<float> parts(count);
  const auto bytes = std::as_writable_bytes(std::span(parts));
  fill({Law::normal, 0, 1}, ElementType::float32, 5, bytes, 2 * kFillBlock, count);
  fill({Law::normal, 0, 1}, ElementType::float32, 5, bytes, 0, 2 * kFillBlock);
  EXPECT_EQ(whole, parts);
}

TEST(Fill, TwoKeysGiveUnrelatedContent) {
  const auto a = draw({Law::uniform, 0, 1}, 4096, 5);
  const auto b = draw({Law::uniform, 0, 1}, 4096, 6);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i] ? 1 : 0;
  EXPECT_LT(equal, 5U);
}

TEST(Fill, UsesPhiloxAsPublished) {
  std::vector<std::int64_t> out(kFillBlock);
  fill({Law::randint, 0, 4294967296.0}, ElementType::int64, 77,
       std::as_writable_bytes(std::span(out)), 0, out.size());
  const auto words = philox(77, {3, 0, 0, 0});  // the fourth counter of the first block
  EXPECT_EQ(out[3], std::int64_t{words[0]});
  EXPECT_EQ(out[kFillBlock / 4 + 3], std::int64_t{words[1]});
}

TEST(DeriveKey, ChangesWithEachOfItsArguments) {
  std::array<std::byte, 32> root{};
  std::set<std::uint64_t> keys{derive_key(root, 1, 1), derive_key(root, 1, 2),
                               derive_key(root, 2, 1)};
  for (std::size_t i = 0; i < root.size(); ++i) {
    auto other = root;
    other[i] = std::byte{1};
    keys.insert(derive_key(other, 1, 1));
  }
  EXPECT_EQ(keys.size(), 3U + root.size());
}

}  // namespace
}  // namespace swage::judge
