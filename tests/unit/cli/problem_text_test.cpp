#include "cli/core/problem_text.hpp"

#include <gmock/gmock.h>

namespace swage::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ProblemText, AProblemObjectIsOneSentence) {
  EXPECT_EQ(problem_text(404, {{"title", "Not found"}, {"detail", "no run `x` here"}}, true),
            "Not found: no run `x` here");
  EXPECT_EQ(problem_text(404, {{"title", "Not found"}}, true), "Not found");
}

TEST(ProblemText, WhatIsNoProblemObjectStillNamesTheStatus) {
  EXPECT_EQ(problem_text(502, json(), true), "the server answered with status 502");
  EXPECT_EQ(problem_text(500, {{"title", 7}}, true), "the server answered with status 500");
}

TEST(ProblemText, ARefusedTokenNamesTheRemedy) {
  const json body{{"title", "Unauthorized"}, {"detail", "send `authorization: Bearer <token>`"}};
  EXPECT_THAT(problem_text(401, body, false), StartsWith("the server wants a token"));
  EXPECT_THAT(problem_text(401, body, true), StartsWith("the server refuses this token"));
  EXPECT_THAT(problem_text(401, body, true), HasSubstr("SWAGE_TOKEN"));
  EXPECT_THAT(problem_text(401, body, true), HasSubstr("secrets/token"));
}

}  // namespace
}  // namespace swage::cli
