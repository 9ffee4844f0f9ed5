#include <gmock/gmock.h>

#include "tests/unit/learner/toy_environment.hpp"

namespace swage::learner {
namespace {

class Toy : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Toy, IsLearnedFromChanceToNineTenthsOfTheMaximum) {
  const auto outcome = learn_toy(GetParam(), 400);
  EXPECT_LT(outcome.first, 0.3);
  EXPECT_GE(outcome.last, 0.9);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Toy, ::testing::Values(1, 2, 3, 4, 5));

}  // namespace
}  // namespace swage::learner
