#include "gpu_pool/judge/core/null_candidates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace swage::judge {
namespace {

const TensorSpec kSpec{ElementType::float32, {2, 2}, {2, 1}};
const TensorSpec kAcross{ElementType::float32, {2, 2}, {1, 2}};
const TensorSpec kOne{ElementType::float32, {1}, {1}};

TensorView view(const TensorSpec& spec, const std::vector<float>& values) {
  return {&spec, reinterpret_cast<const std::byte*>(values.data())};
}

std::vector<float> floats(const std::optional<std::vector<std::byte>>& bytes) {
  if (!bytes) return {};
  std::vector<float> out(bytes->size() / sizeof(float));
  std::memcpy(out.data(), bytes->data(), bytes->size());
  return out;
}

class Nulls : public ::testing::Test {
 protected:
  std::vector<float> result_{1, 2, 3, 6};
  std::vector<float> last_{9, 9, 9, 9};
  std::vector<float> input_{5, 6, 7, 8};
  std::vector<float> of(Null which, const TensorSpec& spec = kSpec) {
    return floats(null_result(which, view(spec, result_), {view(kOne, input_), view(spec, input_)},
                              view(spec, last_)));
  }
};

TEST_F(Nulls, ReturnWhatTheirNameSays) {
  EXPECT_EQ(of(Null::zeros), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(of(Null::ones), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(of(Null::mean), (std::vector<float>{3, 3, 3, 3}));
  EXPECT_EQ(of(Null::rows_permuted), (std::vector<float>{3, 6, 1, 2}));
  EXPECT_EQ(of(Null::half_computed), (std::vector<float>{1, 2, 0, 0}));
  EXPECT_EQ(of(Null::input), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_EQ(of(Null::last_result), (std::vector<float>{9, 9, 9, 9}));
}

TEST_F(Nulls, FollowStrides) {
  EXPECT_EQ(of(Null::rows_permuted, kAcross), (std::vector<float>{2, 6, 1, 3}));
}

TEST_F(Nulls, DoNotExistWhereTheyWouldBeTheAnswer) {
  const std::vector<float> one{4};
  EXPECT_FALSE(null_result(Null::mean, view(kOne, one), {}, view(kOne, one)));
  EXPECT_FALSE(null_result(Null::rows_permuted, view(kOne, one), {}, view(kOne, one)));
  EXPECT_FALSE(null_result(Null::input, view(kOne, one), {view(kSpec, input_)}, view(kOne, one)));
}

TEST_F(Nulls, AreMeasuredByTheRootMeanSquareOfTheResult) {
  EXPECT_NEAR(root_mean_square(view(kSpec, result_)), std::sqrt(12.5), 1e-12);
}

}  // namespace
}  // namespace swage::judge
