#include "gpu_pool/judge/core/hidden.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "gpu_pool/judge/core/recipe.hpp"

namespace swage::judge {
namespace {

constexpr std::uint64_t kRow = 100;
constexpr std::uint64_t kRows = 200;
constexpr double kNotCalm = 1 - static_cast<double>(kCalmElements) / (kRow * kRows);

std::vector<float> drawn(Hidden which, std::uint64_t key = 7, std::uint64_t count = kRow * kRows) {
  std::vector<float> out(count);
  fill_hidden(which, ElementType::float32, kRow, key, std::as_writable_bytes(std::span(out)), 0,
              count);
  return out;
}

std::vector<Hidden> every() {
  std::vector<Hidden> all;
  for (std::size_t i = 0; i < kHiddenCount; ++i) all.push_back(static_cast<Hidden>(i));
  return all;
}

double share(const std::vector<float>& values, bool (*holds)(float)) {
  return static_cast<double>(std::ranges::count_if(values, holds)) /
         static_cast<double>(values.size());
}

TEST(Hidden, EveryNameLeadsBackToItsDistribution) {
  for (const Hidden which : every()) EXPECT_EQ(hidden_of(name_of(which)), which);
  EXPECT_EQ(hidden_of("usual"), std::nullopt);
}

TEST(Hidden, ContentIsFiniteDependsOnTheKeyAndNotOnHowARangeIsDivided) {
  for (const Hidden which : every()) {
    SCOPED_TRACE(name_of(which));
    const auto whole = drawn(which);
    EXPECT_TRUE(std::ranges::all_of(whole, [](float v) { return std::isfinite(v); }));
    std::vector<float> parts(whole.size());
    const auto bytes = std::as_writable_bytes(std::span(parts));
    fill_hidden(which, ElementType::float32, kRow, 7, bytes, kFillBlock, parts.size());
    fill_hidden(which, ElementType::float32, kRow, 7, bytes, 0, kFillBlock);
    EXPECT_EQ(whole, parts);
    if (which != Hidden::sorted) {
      EXPECT_NE(whole, drawn(which, 8));
    }
  }
}

TEST(Hidden, EachLooksAsItsNameSays) {
  EXPECT_NEAR(share(drawn(Hidden::sparse), [](float v) { return v == 0; }), 0.9, 0.02);
  EXPECT_NEAR(share(drawn(Hidden::one_hot), [](float v) { return v == 1; }), 1.0 / kRow, 1e-9);
  EXPECT_EQ(share(drawn(Hidden::shifted), [](float v) { return v > 90; }), 1);
  EXPECT_EQ(share(drawn(Hidden::rows_at_80), [](float v) { return std::fabs(v) > 70; }), kNotCalm);
  EXPECT_GT(share(drawn(Hidden::large), [](float v) { return v < -100; }), 0.4);
  EXPECT_EQ(share(drawn(Hidden::small), [](float v) { return std::fabs(v) < 0.01F; }), 1);
  EXPECT_EQ(share(drawn(Hidden::denormals), [](float v) { return std::fabs(v) < 1.2e-38F; }), 1);
  EXPECT_EQ(share(drawn(Hidden::lognormal), [](float v) { return v > 0; }), 1);
  EXPECT_NEAR(share(drawn(Hidden::clustered_maxima), [](float v) { return v > 9; }), 8.0 / kRow,
              1e-9);
  const auto sorted = drawn(Hidden::sorted);
  EXPECT_TRUE(std::ranges::is_sorted(sorted));
  const auto rows = drawn(Hidden::constant_rows);
  for (std::size_t i = 3 * kRow; i < rows.size(); ++i) EXPECT_EQ(rows[i], rows[i / kRow * kRow]);
  const auto signs = drawn(Hidden::alternating);
  for (std::size_t i = 3 * kRow + 1; i < 4 * kRow; ++i) EXPECT_LT(signs[i] * signs[i - 1], 0);
}

TEST(Hidden, WhoLooksAtTheBeginningSeesTheUsualInputs) {
  std::vector<float> out(kRow * kRows, 0.25F);
  fill_hidden(Hidden::large, ElementType::float32, kRow, 7, std::as_writable_bytes(std::span(out)),
              0, out.size());
  EXPECT_TRUE(
      std::ranges::all_of(std::span(out).first(kCalmElements), [](float v) { return v == 0.25F; }));
  EXPECT_NE(out[kCalmElements], 0.25F);
  std::vector<float> small(4 * kCalmElements - 1, 0.25F);
  fill_hidden(Hidden::large, ElementType::float32, kRow, 7,
              std::as_writable_bytes(std::span(small)), 0, small.size());
  EXPECT_NE(small[0], 0.25F) << "a small tensor would be left as it is";
}

TEST(Hidden, ADrawNeverMissesAllOfAKind) {
  const std::set<Hidden> both_signs_and_large{Hidden::large, Hidden::constant_rows,
                                              Hidden::alternating, Hidden::rows_at_80};
  for (std::uint64_t key = 0; key < 200; ++key) {
    const auto four = draw_hidden(every(), 4, key);
    EXPECT_EQ(std::set<Hidden>(four.begin(), four.end()).size(), 4U);
    EXPECT_TRUE(
        std::ranges::any_of(four, [&](Hidden h) { return both_signs_and_large.contains(h); }));
  }
}

TEST(Hidden, ADrawTakesWhatThereIs) {
  EXPECT_TRUE(draw_hidden({}, 4, 1).empty());
  EXPECT_EQ(draw_hidden({Hidden::shifted, Hidden::small}, 4, 1).size(), 2U);
}

}  // namespace
}  // namespace swage::judge
