#include "sandbox/core/runner_messages.hpp"

#include <gmock/gmock.h>

#include "sandbox/core/base64.hpp"

namespace swage::sandbox {
namespace {

TEST(RunnerMessages, EveryMessageSurvivesTheWire) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const std::vector<FromRunner> messages{
      RunnerReady{}, RunnerFailed{"why"}, ToolDone{7, true, "text", "digest"},
      FilesCollected{9, {{"kernels/a.cpp", 0644, bytes}, {"b", 0444, ""}}, ""}};
  for (const auto& message : messages) EXPECT_EQ(*decode_from_runner(encode(message)), message);
  const auto call = decode_to_runner(encode(ToRunner(RunTool{3, "Bash", "{}"})));
  EXPECT_EQ(std::get<RunTool>(*call).arguments_json, "{}");
  const auto end = decode_to_runner(encode(ToRunner(EndTool{EndTool::Why::cancelled, 4})));
  EXPECT_EQ(std::get<EndTool>(*end).why, EndTool::Why::cancelled);
  EXPECT_EQ(std::get<EndTool>(*end).id, 4U);
}

TEST(RunnerMessages, NonsenseFromTheRunnerIsAnErrorNotACrash) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"op":"done"})", R"({"op":"done","id":-1})",
        R"({"op":"nothing","id":1})",
        R"({"op":"files","id":1,"problem":"","files":[{"path":"a","mode":1,"content":"*"}]})"})
    EXPECT_FALSE(decode_from_runner(text)) << text;
}

TEST(Base64, RefusesWhatItDidNotMake) {
  for (const char* text : {"", "a", "ab", "abc"})
    EXPECT_EQ(base64_decode(base64_encode(text)), text);
  EXPECT_EQ(base64_encode("abcd"), "YWJjZA==");
  EXPECT_THROW(base64_decode("YWJ"), std::invalid_argument);
  EXPECT_THROW(base64_decode("YW=j"), std::invalid_argument);
}

}  // namespace
}  // namespace swage::sandbox
