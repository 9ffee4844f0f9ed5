#include "gpu_pool/judge/adapters/task_facts.hpp"

#include <gtest/gtest.h>

namespace swage::judge {
namespace {

nlohmann::json description() {
  return nlohmann::json::parse(R"({
    "init_args": [3, {"tuple": [1, 2]}],
    "args": [
      {"tensor": {"dtype": "float32", "shape": [2, 3], "stride": [3, 1],
                  "recipe": {"law": "normal", "a": 0, "b": 1}}},
      {"value": 0.5},
      {"tensor": {"dtype": "int64", "shape": [], "stride": []}}],
    "state": [{"name": "w", "dtype": "bfloat16", "shape": [4]}]})");
}

TEST(TaskFacts, AreReadAndWrittenBack) {
  const auto facts = parse_facts(description());
  ASSERT_TRUE(facts.has_value()) << facts.error();
  ASSERT_EQ(facts->args.size(), 3U);
  EXPECT_EQ(facts->args[0].recipe->law, Law::normal);
  EXPECT_FALSE(facts->args[1].tensor.has_value());
  EXPECT_EQ(facts->args[1].value, 0.5);
  EXPECT_FALSE(facts->args[2].recipe.has_value());
  EXPECT_EQ(facts->state[0].spec.type, ElementType::bfloat16);
  const auto again = parse_facts(facts_json(*facts));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(facts_json(*again), facts_json(*facts));
}

TEST(TaskFacts, NeedInputsTwiceAndWeightsThrice) {
  const auto facts = parse_facts(description());
  ASSERT_TRUE(facts.has_value()) << facts.error();
  EXPECT_EQ(needed_bytes(*facts), 2U * (24 + 8) + 3U * 8);
  auto huge = description();
  huge["args"][0]["tensor"]["shape"] = {1 << 20, 1 << 20};
  huge["args"][0]["tensor"]["stride"] = {1 << 20, 1};
  EXPECT_GT(needed_bytes(*parse_facts(huge)), 1ULL << 42U);
}

TEST(TaskFacts, AnUnknownLawMakesTheArgumentOpaque) {
  auto message = description();
  message["args"][0]["tensor"]["recipe"]["law"] = "cauchy";
  EXPECT_FALSE(parse_facts(message)->args[0].recipe.has_value());
}

TEST(TaskFacts, ImpossibleTensorsAreRefused) {
  for (const char* change : {R"({"dtype": "complex64"})", R"({"shape": [-1, 3]})",
                             R"({"stride": [3]})", R"({"shape": "2"})", R"({"stride": [-3, 1]})"}) {
    auto message = description();
    message["args"][0]["tensor"].update(nlohmann::json::parse(change));
    EXPECT_FALSE(parse_facts(message).has_value()) << change;
  }
  auto message = description();
  message["state"] = 3;
  EXPECT_FALSE(parse_facts(message).has_value());
}

}  // namespace
}  // namespace swage::judge
