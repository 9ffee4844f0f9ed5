#include "sandbox/api/tool_schema.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace swage::sandbox {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view name, std::string_view arguments) {
  const auto checked = validate_tool_call(name, arguments);
  return checked ? "accepted" : checked.error();
}

TEST(ToolSchema, EveryToolHasADescriptionAndAClosedObjectSchema) {
  const auto document = nlohmann::json::parse(tool_schemas_json());
  ASSERT_GE(document.size(), 10U);
  for (const auto& tool : document) {
    const auto& parameters = tool.at("parameters");
    EXPECT_FALSE(tool.at("description").get<std::string>().empty());
    EXPECT_EQ(parameters.at("type"), "object");
    EXPECT_EQ(parameters.at("additionalProperties"), false);
    for (const auto& required : parameters.at("required"))
      EXPECT_TRUE(parameters.at("properties").contains(required)) << tool.at("name");
    for (const auto& [name, property] : parameters.at("properties").items())
      EXPECT_TRUE(property.contains("description")) << tool.at("name") << " " << name;
  }
}

TEST(ToolSchema, EqualCallsHaveOneCanonicalTextWhateverTheirOrderSpacesAndDefaults) {
  const auto one = validate_tool_call("Bash", R"({"command":"ls","timeout":120000})");
  const auto two = validate_tool_call("Bash", R"( {"run_in_background": false, "command": "ls"} )");
  const auto other = validate_tool_call("Bash", R"({"command":"ls","timeout":119999})");
  ASSERT_TRUE(one && two && other);
  EXPECT_EQ(*one, R"({"command":"ls"})");
  EXPECT_EQ(tool_call_digest("Bash", *one), tool_call_digest("Bash", *two));
  EXPECT_NE(tool_call_digest("Bash", *one), tool_call_digest("Bash", *other));
  EXPECT_NE(tool_call_digest("Bash", *one), tool_call_digest("Read", *one));
}

TEST(ToolSchema, ARefusalSaysWhatIsWrongAndWhatWouldBeRight) {
  EXPECT_THAT(refusal("Basch", "{}"), HasSubstr("the tools are Bash,"));
  EXPECT_THAT(refusal("Bash", "{}"), HasSubstr("Bash needs `command`"));
  EXPECT_THAT(refusal("Bash", R"({"command":)"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("Bash", R"(["ls"])"), HasSubstr("one JSON object"));
  EXPECT_THAT(refusal("Bash", R"({"cmd":"ls","command":"ls"})"),
              HasSubstr("no argument `cmd`; it takes"));
  EXPECT_THAT(refusal("Bash", R"({"command":7})"), HasSubstr("`command` must be a string"));
  EXPECT_THAT(refusal("Bash", R"({"command":""})"), HasSubstr("must not be empty"));
  EXPECT_THAT(refusal("Grep", R"({"pattern":"x","output_mode":"lines"})"),
              HasSubstr("one of content, files_with_matches and count"));
  EXPECT_THAT(refusal("MultiEdit", R"({"file_path":"/tmp/a","edits":[{"old_string":"a"}]})"),
              HasSubstr("`edits`[0] needs `new_string`"));
  EXPECT_THAT(refusal("MultiEdit", R"({"file_path":"/tmp/a","edits":[]})"), HasSubstr("empty"));
}

TEST(ToolSchema, ATimeoutIsAcceptedUpToTenMinutesAndNoFurther) {
  EXPECT_EQ(refusal("Bash", R"({"command":"ls","timeout":600000})"), "accepted");
  EXPECT_THAT(refusal("Bash", R"({"command":"ls","timeout":600001})"), HasSubstr("at most 600000"));
  EXPECT_EQ(refusal("Bash", R"({"command":"ls","timeout":1})"), "accepted");
  EXPECT_THAT(refusal("Bash", R"({"command":"ls","timeout":0})"), HasSubstr("at least 1"));
  EXPECT_THAT(refusal("Bash", R"({"command":"ls","timeout":-1})"), HasSubstr("at least 1"));
  EXPECT_THAT(refusal("Bash", R"({"command":"ls","timeout":18446744073709551615})"),
              HasSubstr("at most 600000"));
  EXPECT_THAT(refusal("Bash", R"({"command":"ls","timeout":1e3})"), HasSubstr("an integer"));
}

TEST(ToolSchema, HostileTextIsRefusedNotObeyed) {
  EXPECT_THAT(refusal("Bash", std::string(100'000, '[')), HasSubstr("nested too deeply"));
  EXPECT_THAT(refusal("Bash", "{\"command\":\"\xff\"}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("Write", R"({"file_path":"/tmp/a","content":")" +
                                   std::string(std::size_t{1} << 20, 'x') + "\"}"),
              HasSubstr("longer than 1 MiB"));
  EXPECT_EQ(refusal("Write", R"({"file_path":"/tmp/a","content":"[[[[[[[[[[[[[[[[[[[[\""})"),
            "accepted");
}

}  // namespace
}  // namespace swage::sandbox
