#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/base/digest.hpp"
#include "common/config/process_config.hpp"
#include "common/config/yaml.hpp"

namespace swage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Reader {
  explicit Reader(const char* text) : json(nlohmann::json::parse(text)) {}
  Fields fields() {
    return {json, "spec", [this](const std::string& path, const std::string& what) {
              complaints.push_back(path + " " + what);
            }};
  }
  nlohmann::json json;
  std::vector<std::string> complaints;
};

TEST(FieldsTest, GoodFieldsAreReadAndMissingOnesTakeTheirDefault) {
  Reader reader(R"({"name": "x", "count": 3, "on": true, "inner": {"rate": 0.5}})");
  auto fields = reader.fields();
  EXPECT_EQ(fields.text("name", ""), "x");
  EXPECT_EQ(fields.integer("count", 1, 0, 10), 3);
  EXPECT_EQ(fields.integer("other", 7, 0, 10), 7);
  EXPECT_TRUE(fields.boolean("on", false));
  auto inner = fields.object("inner");
  EXPECT_EQ(inner.number("rate", 0, 0, 1), 0.5);
  inner.finish();
  fields.finish();
  EXPECT_TRUE(reader.complaints.empty());
}

TEST(FieldsTest, EachBadFieldIsNamedWithItsPath) {
  Reader reader(R"({"count": "3", "rate": 7, "kind": "gpu", "inner": 3, "nmae": 1})");
  auto fields = reader.fields();
  fields.text("name", "");
  fields.integer("count", 1, 0, 10);
  fields.number("rate", 0, 0, 1);
  fields.one_of("kind", {"cpu", "cuda"}, "cpu");
  fields.object("inner").finish();
  fields.finish();
  EXPECT_THAT(reader.complaints,
              ElementsAre(HasSubstr("spec.count must be a whole number"),
                          HasSubstr("spec.rate must lie in [0, 1], not 7"),
                          HasSubstr("spec.kind must be one of cpu, cuda, not `gpu`"),
                          HasSubstr("spec.inner must be an object"),
                          HasSubstr("spec.nmae is not a field here; did you mean `name`?")));
}

TEST(Yaml, ScalarsFollowTheCoreSchemaAndLinesAreKept) {
  const auto documents = parse_yaml(
      "a: 1\nb: {c: \"2\", d: true}\nlist:\n  - x: 0.5\n  - y: ~\n---\n---\nsecond: word\n",
      "f.yaml");
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 2U);
  const auto& first = (*documents)[0];
  EXPECT_EQ(first.value.dump(), R"({"a":1,"b":{"c":"2","d":true},"list":[{"x":0.5},{"y":null}]})");
  EXPECT_EQ(first.line_of("b.c"), 2);
  EXPECT_EQ(first.line_of("list[1].y"), 5);
  EXPECT_EQ(first.line_of("list[1].z"), 5);
  EXPECT_EQ((*documents)[1].line_of("second"), 8);
}

TEST(Yaml, WhatIsNotYamlOrStandsTwiceIsNamedByFileAndLine) {
  EXPECT_THAT(parse_yaml("a: [1\nb: 2\n", "f.yaml").error().text(), HasSubstr("f.yaml:"));
  EXPECT_THAT(parse_yaml("!#,", "f.yaml").error().text(), HasSubstr("f.yaml:1"));
  EXPECT_THAT(parse_yaml("a: 1\na: 2\n", "f.yaml").error().text(),
              HasSubstr("f.yaml:2: a stands twice"));
}

TEST(ProcessConfigTest, CommonAndOwnFieldsComeFromOneFileAndUnknownOnesAreRefused) {
  const auto path = std::filesystem::path(testing::TempDir()) / to_hex(random_bytes(8));
  ASSERT_TRUE(write_file_durably(path, R"({"name": "p", "listen": "unix:/x", "own": 3})"));
  std::int64_t own = 0;
  const auto take = [&](Fields& fields) { own = fields.integer("own", 0, 0, 9); };
  const auto read = read_process_config(path, take);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->listen, "unix:/x");
  EXPECT_EQ(own, 3);
  ASSERT_TRUE(write_file_durably(path, R"({"listen": 4, "extra": 1})"));
  const auto bad = read_process_config(path, take);
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().text(), testing::AllOf(HasSubstr("name is missing"), HasSubstr("listen"),
                                                 HasSubstr("extra is not a field")));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace swage
