#include "rollout_worker/core/tool_call_parser.hpp"

#include <gmock/gmock.h>

#include <random>

namespace swage::rollout_worker {
namespace {

using testing::HasSubstr;

std::vector<ParsedCall> parse(std::string_view text) {
  HermesParser parser;
  parser.feed(text);
  return parser.finish();
}

TEST(HermesParser, ReadsCallsInOrderAndIgnoresTheTextAround) {
  const auto calls = parse(
      "First I look.<tool_call>{\"name\": \"Read\", \"arguments\": {\"file_path\": \"/a\"}}"
      "</tool_call>\nthen\n<tool_call>\n{\"arguments\":{},\"name\":\"BashOutput\"}\n</tool_call> "
      "ok");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].name, "Read");
  EXPECT_EQ(calls[0].arguments, R"({"file_path":"/a"})");
  EXPECT_EQ(calls[1].name, "BashOutput");
  EXPECT_TRUE(calls[0].well_formed() && calls[1].well_formed());
}

TEST(HermesParser, GivesTheSameCallsHoweverTheTextIsCut) {
  const std::string text =
      "<<tool_call>{\"name\":\"Write\",\"arguments\":{\"content\":\"x </tool_call> \\\" y\"}}"
      "</tool_call><tool_<tool_call>{\"name\":\"A\",\"arguments\":{}}</tool_call></tool_call>"
      "<tool_call>{\"name\": \"open</tool_call> <tool_call>{\"name\":\"B\",\"arguments\":{}}"
      "</tool_call>";
  const auto whole = parse(text);
  ASSERT_EQ(whole.size(), 4U);
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    HermesParser parser;
    for (std::size_t at = 0; at < text.size();) {
      const auto length = 1 + random() % 9;
      parser.feed(std::string_view(text).substr(at, length));
      at += length;
    }
    const auto pieces = parser.finish();
    ASSERT_EQ(pieces.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(pieces[i].name, whole[i].name);
      EXPECT_EQ(pieces[i].arguments, whole[i].arguments);
      EXPECT_EQ(pieces[i].error, whole[i].error);
    }
  }
}

TEST(HermesParser, AClosingTagInsideAStringBelongsToTheString) {
  const auto calls =
      parse(R"(<tool_call>{"name":"Write","arguments":{"content":"a</tool_call><tool_call>{}b"}})"
            "</tool_call>");
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_TRUE(calls[0].well_formed()) << calls[0].error;
  EXPECT_THAT(calls[0].arguments, HasSubstr("a</tool_call><tool_call>{}b"));
}

TEST(HermesParser, AnOpenStringCostsItsOwnCallOnly) {
  const auto calls = parse(
      "<tool_call>{\"name\":\"Bash\",\"arguments\":{\"command\":\"ls}}</tool_call>"
      "<tool_call>{\"name\":\"Bash\",\"arguments\":{\"command\":\"pwd\"}}</tool_call>");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_FALSE(calls[0].well_formed());
  EXPECT_EQ(calls[1].arguments, R"({"command":"pwd"})");
}

TEST(HermesParser, SaysWhatIsWrong) {
  const auto error = [](std::string_view body) { return parse_call(body).error; };
  EXPECT_THAT(error("{\"name\": \"Bash\", }"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(error("{\"arguments\": {}}"), HasSubstr("no \"name\""));
  EXPECT_THAT(error("{\"name\": 3, \"arguments\": {}}"), HasSubstr("no \"name\""));
  EXPECT_THAT(error("{\"name\": \"Bash\"}"), HasSubstr("\"arguments\""));
  EXPECT_THAT(error("{\"name\": \"Bash\", \"arguments\": \"ls\"}"), HasSubstr("\"arguments\""));
  EXPECT_THAT(error("{\"name\": \"\xff\", \"arguments\": {}}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(parse("<tool_call>{\"name\"").at(0).error, HasSubstr("not closed"));
  EXPECT_EQ(error("{\"name\": \"Bash\", \"arguments\": {}}"), "");
}

TEST(HermesParser, RefusesDeepNestingWithoutParsingIt) {
  const auto nested = [](std::size_t depth) {
    return "{\"name\":\"B\",\"arguments\":{\"a\":" + std::string(depth, '[') +
           std::string(depth, ']') + "}}";
  };
  EXPECT_TRUE(parse_call(nested(30)).well_formed());
  EXPECT_THAT(parse_call(nested(31)).error, HasSubstr("too deeply"));
  EXPECT_THAT(parse_call(nested(1'000'000)).error, HasSubstr("too deeply"));
}

TEST(HermesParser, ANumberThatNoDoubleHoldsIsAMalformedCall) {
  const auto with = [](const std::string& number) {
    return parse_call("{\"name\":\"B\",\"arguments\":{\"a\":" + number + "}}");
  };
  EXPECT_TRUE(with("1e308").well_formed());
  EXPECT_THAT(with("1e309").error, HasSubstr("too large"));
}

TEST(HermesParser, StopsAtSixtyFourCalls) {
  std::string text;
  for (int i = 0; i < 64; ++i) text += "<tool_call>{\"name\":\"B\",\"arguments\":{}}</tool_call>";
  EXPECT_EQ(parse(text).size(), 64U);
  EXPECT_TRUE(parse(text).back().well_formed());
  text += "<tool_call>{\"name\":\"B\",\"arguments\":{}}</tool_call>";
  EXPECT_EQ(parse(text + text).size(), 65U);
  EXPECT_THAT(parse(text).back().error, HasSubstr("Too many"));
}

TEST(HermesParser, NearMissesAreNoCalls) {
  for (const char* text : {"", "tool_call", "<tool_call", "< tool_call>{}</tool_call>",
                           "<Tool_Call>{}</Tool_Call>", "&lt;tool_call&gt;{}"})
    EXPECT_TRUE(parse(text).empty()) << text;
}

}  // namespace
}  // namespace swage::rollout_worker
