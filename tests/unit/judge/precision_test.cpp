#include "gpu_pool/judge/core/precision.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace swage::judge {
namespace {

const TensorSpec kSingle{ElementType::float32, {4, 64}, {64, 1}};
const TensorSpec kDouble{ElementType::float64, {4, 64}, {64, 1}};

template <class T>
TensorView view(const TensorSpec& spec, const std::vector<T>& values) {
  return {&spec, reinterpret_cast<const std::byte*>(values.data())};
}

/// Values whose relative distance to `truth` is `error`, with alternating sign.
std::vector<float> off_by(const std::vector<double>& truth, double error) {
  std::vector<float> out;
  for (std::size_t i = 0; i < truth.size(); ++i)
    out.push_back(static_cast<float>(truth[i] * (1 + (i % 2 == 0 ? error : -error))));
  return out;
}

std::vector<double> ramp() {
  std::vector<double> out;
  for (int i = 0; i < 256; ++i) out.push_back(1 + i / 64.0);
  return out;
}

PrecisionError error_of(double error) {
  const auto truth = ramp();
  const auto values = off_by(truth, error);
  return precision_error(view(kSingle, values), view(kDouble, truth), {1e-3, 1e-3});
}

TEST(Precision, MeasuresTheErrorInTheTwoNormAndTheWorstElement) {
  const auto found = error_of(1e-3);
  EXPECT_NEAR(found.relative_l2, 1e-3, 1e-5);
  EXPECT_GT(found.worst, 3e-4);
  EXPECT_LT(found.worst, 1e-3);
}

TEST(Precision, HalfPrecisionInsideIsBeyondTheLimitAndFastMathIsNot) {
  const auto limit = precision_limit(error_of(1e-7), ElementType::float32);
  EXPECT_TRUE(within(error_of(5e-6), limit));
  EXPECT_FALSE(within(error_of(2e-5), limit));
  EXPECT_FALSE(within(error_of(4e-4), limit));
}

TEST(Precision, ALessExactReferenceAllowsMore) {
  const auto limit = precision_limit(error_of(1e-4), ElementType::float32);
  EXPECT_TRUE(within(error_of(7e-4), limit));
  EXPECT_FALSE(within(error_of(9e-4), limit));
  const auto half = precision_limit(error_of(1e-4), ElementType::float16);
  EXPECT_FALSE(within(error_of(3e-4), half));
}

TEST(Precision, CloseSaysThatEveryElementIsWithinTheTolerance) {
  EXPECT_TRUE(error_of(5e-4).close);
  EXPECT_FALSE(error_of(5e-3).close);
  const auto truth = ramp();
  auto values = off_by(truth, 0);
  values[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(precision_error(view(kSingle, values), view(kDouble, truth), {1e-3, 1e-3}).close);
}

}  // namespace
}  // namespace swage::judge
