#include "gpu_pool/judge/core/weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace swage::judge {
namespace {

std::vector<float> perturbed(const std::string& name, std::vector<float> values,
                             std::uint64_t key = 3) {
  perturb_weights(name, ElementType::float32, key, std::as_writable_bytes(std::span(values)));
  return values;
}

TEST(PerturbWeights, KeepsTheScaleButNoValueOfAnOrdinaryTensor) {
  std::vector<float> own(1000);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = std::sin(static_cast<float>(i));
  const auto made = perturbed("layer.weight", own);
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_NE(made[i], own[i]);
    EXPECT_NEAR(made[i], own[i], 0.1 * std::fabs(own[i]) + 6 * 0.05 * 0.71);
  }
}

TEST(PerturbWeights, ReplacesOnesAndZeros) {
  const auto ones = perturbed("norm.weight", std::vector<float>(1000, 1.0F));
  EXPECT_GE(*std::ranges::min_element(ones), 0.5F);
  EXPECT_LE(*std::ranges::max_element(ones), 1.5F);
  EXPECT_LT(*std::ranges::min_element(ones), 0.6F);
  const auto zeros = perturbed("norm.bias", std::vector<float>(1000, 0.0F));
  EXPECT_LT(*std::ranges::min_element(zeros), -0.2F);
  EXPECT_GT(*std::ranges::max_element(zeros), 0.2F);
}

TEST(PerturbWeights, KeepsAVariancePositive) {
  const auto variance = perturbed("bn.running_var", std::vector<float>(1000, 1.0F));
  EXPECT_GE(*std::ranges::min_element(variance), 0.5F);
  EXPECT_GT(*std::ranges::max_element(variance), 1.6F);
}

TEST(PerturbWeights, LeavesIntegersAlone) {
  std::vector<std::int64_t> count{7};
  perturb_weights("bn.num_batches_tracked", ElementType::int64, 3,
                  std::as_writable_bytes(std::span(count)));
  EXPECT_EQ(count.front(), 7);
}

TEST(PerturbWeights, GivesEachKeyItsOwnWeights) {
  const std::vector<float> own(100, 1.0F);
  EXPECT_EQ(perturbed("a", own, 1), perturbed("a", own, 1));
  EXPECT_NE(perturbed("a", own, 1), perturbed("a", own, 2));
}

}  // namespace
}  // namespace swage::judge
