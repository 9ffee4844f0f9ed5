#include "gpu_pool/judge/core/gate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace swage::judge {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TensorSpec vector_spec(std::size_t size) {
  return {ElementType::float32, {static_cast<std::int64_t>(size)}, {1}};
}

Comparison compare_floats(const std::vector<float>& candidate, const std::vector<float>& expected) {
  const TensorSpec spec = vector_spec(expected.size());
  const auto bytes = [](const auto& values) {
    return reinterpret_cast<const std::byte*>(values.data());
  };
  return compare({&spec, bytes(candidate)}, {&spec, bytes(expected)}, {}, 0, expected.size());
}

/// One pair at every place of a vector long enough for the vector loop and its rest.
void expect_everywhere(float candidate, float expected, bool passes) {
  constexpr std::size_t kSize = 37;
  for (std::size_t at = 0; at < kSize; ++at) {
    std::vector<float> c(kSize, 1.0F);
    std::vector<float> e(kSize, 1.0F);
    c[at] = candidate;
    e[at] = expected;
    const Comparison found = compare_floats(c, e);
    EXPECT_EQ(found.passed(), passes) << candidate << " for " << expected << " at " << at;
    EXPECT_EQ(found.outside, passes ? 0U : 1U);
    EXPECT_EQ(found.elements, kSize);
  }
}

TEST(Gate, AllowsOnePercentAndAHundredth) {
  expect_everywhere(0.0099F, 0.0F, true);
  expect_everywhere(0.0101F, 0.0F, false);
  expect_everywhere(101.0F, 100.0F, true);
  expect_everywhere(101.02F, 100.0F, false);
  expect_everywhere(-101.02F, -100.0F, false);
}

TEST(Gate, NotANumberNeverPasses) {
  expect_everywhere(kNan, 1.0F, false);
  expect_everywhere(1.0F, kNan, false);
  expect_everywhere(kNan, kNan, false);
}

TEST(Gate, OnlyTheSameInfinityPasses) {
  expect_everywhere(kInfinity, kInfinity, true);
  expect_everywhere(-kInfinity, -kInfinity, true);
  expect_everywhere(-kInfinity, kInfinity, false);
  expect_everywhere(1e30F, kInfinity, false);
  expect_everywhere(kInfinity, 1e30F, false);
}

TEST(Gate, CountsWhatIsNotFiniteOnEachSide) {
  std::vector<float> c(40, 1.0F);
  std::vector<float> e(40, 1.0F);
  c[3] = kNan;
  c[39] = kInfinity;
  e[7] = kNan;
  const Comparison found = compare_floats(c, e);
  EXPECT_EQ(found.nonfinite, 2U);
  EXPECT_EQ(found.expected_nonfinite, 1U);
  EXPECT_EQ(found.outside, 3U);
}

TEST(Gate, TellsTheLargestFiniteDifference) {
  std::vector<float> c(40, 1.0F);
  const std::vector<float> e(40, 1.0F);
  c[5] = 1.5F;
  c[38] = 0.25F;
  c[6] = kInfinity;
  EXPECT_DOUBLE_EQ(compare_floats(c, e).max_abs, 0.75);
}

TEST(Gate, ComparesElementsNotStorage) {
  const std::vector<float> rows{1, 2, 3, 4, 5, 6};
  const std::vector<float> columns{1, 4, 2, 5, 3, 6};
  const TensorSpec by_row{ElementType::float32, {2, 3}, {3, 1}};
  const TensorSpec by_column{ElementType::float32, {2, 3}, {1, 2}};
  const auto* r = reinterpret_cast<const std::byte*>(rows.data());
  const auto* c = reinterpret_cast<const std::byte*>(columns.data());
  EXPECT_TRUE(compare({&by_column, c}, {&by_row, r}, {}, 0, 6).passed());
  EXPECT_FALSE(compare({&by_row, c}, {&by_row, r}, {}, 0, 6).passed());
  EXPECT_TRUE(compare({&by_column, c}, {&by_row, r}, {}, 4, 6).passed()) << "a part of it";
}

TEST(Gate, PartsAddUpToTheWhole) {
  std::vector<float> c(100, 1.0F);
  const std::vector<float> e(100, 1.0F);
  c[10] = 2;
  c[60] = kNan;
  const TensorSpec spec = vector_spec(100);
  const TensorView candidate{&spec, reinterpret_cast<const std::byte*>(c.data())};
  const TensorView expected{&spec, reinterpret_cast<const std::byte*>(e.data())};
  const Comparison sum =
      merge(compare(candidate, expected, {}, 0, 33), compare(candidate, expected, {}, 33, 100));
  EXPECT_EQ(sum.elements, 100U);
  EXPECT_EQ(sum.outside, 2U);
  EXPECT_EQ(sum.nonfinite, 1U);
  EXPECT_DOUBLE_EQ(sum.max_abs, 1.0);
}

TEST(Gate, ReadsEveryElementType) {
  for (const auto type : {ElementType::float64, ElementType::float16, ElementType::bfloat16,
                          ElementType::int64, ElementType::int32, ElementType::int16,
                          ElementType::int8, ElementType::uint8, ElementType::boolean}) {
    const TensorSpec spec{type, {3}, {1}};
    std::vector<std::byte> c(3 * size_of(type));
    std::vector<std::byte> e(3 * size_of(type));
    for (std::size_t i = 0; i < 3; ++i) {
      store_element(type, static_cast<double>(i % 2), c.data() + i * size_of(type));
      store_element(type, static_cast<double>(i % 2), e.data() + i * size_of(type));
    }
    EXPECT_TRUE(compare({&spec, c.data()}, {&spec, e.data()}, {}, 0, 3).passed()) << name_of(type);
    store_element(type, 0, c.data() + size_of(type));
    EXPECT_FALSE(compare({&spec, c.data()}, {&spec, e.data()}, {}, 0, 3).passed()) << name_of(type);
  }
}

TEST(ElementType, HalvesSurviveTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!std::isnan(from_half(half))) EXPECT_EQ(to_half(from_half(half)), half);
    if (!std::isnan(from_bfloat16(half))) EXPECT_EQ(to_bfloat16(from_bfloat16(half)), half);
  }
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(kNan))));
}

}  // namespace
}  // namespace swage::judge
