#include "policy/model/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "policy/model/safetensors.hpp"

namespace swage::policy {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

Json llama() { return Json::parse(config_json(tiny_config(2048))); }

TEST(ModelConfig, WhatIsWrittenIsReadBackEqual) {
  for (const std::string family : {"llama", "qwen2", "qwen3"}) {
    auto config = tiny_config(999);
    config.family = family;
    config.qkv_bias = family == "qwen2";
    config.qk_norm = family == "qwen3";
    const auto read = parse_config(config_json(config));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, config);
  }
}

TEST(ModelConfig, EachPartThatIsNotComputedIsRefusedByName) {
  const std::vector<std::pair<Json, std::string>> cases{
      {{{"model_type", "mamba"}}, "model_type"},
      {{{"hidden_act", "gelu"}}, "hidden_act"},
      {{{"num_local_experts", 8}}, "num_local_experts"},
      {{{"use_sliding_window", true}}, "use_sliding_window"},
      {{{"partial_rotary_factor", 0.5}}, "partial_rotary_factor"},
      {{{"rope_parameters", {{"rope_type", "yarn"}, {"rope_theta", 1e4}}}}, "yarn"},
      {{{"rope_scaling", {{"type", "dynamic"}}}}, "dynamic"},
      {{{"num_key_value_heads", 3}}, "num_key_value_heads"},
      {{{"hidden_size", 0}}, "hidden_size"},
      {{{"hidden_size", "big"}}, "type must be number"}};
  for (const auto& [patch, name] : cases) {
    auto json = llama();
    json.update(patch);
    const auto read = parse_config(json.dump());
    ASSERT_FALSE(read) << patch;
    EXPECT_THAT(read.error().message, HasSubstr(name));
  }
  EXPECT_TRUE(parse_config(llama().dump()));
}

TEST(ModelConfig, OlderFilesWithoutTheNewerFieldsAreRead) {
  auto json = llama();
  for (const char* field : {"rope_parameters", "head_dim", "dtype"}) json.erase(field);
  json["rope_theta"] = 5e5;
  const auto read = parse_config(json.dump());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->rope_theta, 5e5);
  EXPECT_EQ(read->head_dim, 32);
}

TEST(ModelConfig, TheDigestChangesWithMathematicsAndNotWithTheInitialiser) {
  auto config = tiny_config(2048);
  const auto digest = config_digest(config);
  config.initializer_range = 0.5;
  EXPECT_EQ(config_digest(config), digest);
  config.rope_theta = 1e6;
  EXPECT_NE(config_digest(config), digest);
}

TEST(ModelConfig, TheTinyModelHasAMillionParametersInAnAlignedLayout) {
  const auto layout = weight_layout(tiny_config(2048));
  std::uint64_t floats = 0;
  std::uint64_t at = 0;
  for (const auto& tensor : layout.tensors) {
    EXPECT_EQ(tensor.offset % 256, 0U);
    EXPECT_GE(tensor.offset, at);
    at = tensor.offset + tensor.bytes;
    floats += tensor.bytes / 4;
  }
  EXPECT_LE(at, layout.total_bytes);
  EXPECT_NEAR(static_cast<double>(floats), 1.05e6, 0.05e6);
}

TEST(ModelConfig, AnUnknownScratchModelAndAMissingFolderAreErrors) {
  EXPECT_EQ(model_config("scratch:huge", 10).error().code, ModelErrc::unsupported);
  EXPECT_EQ(model_config("/nowhere", 10).error().code, ModelErrc::unreadable);
}

std::string file_start(const std::string& header) {
  const std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header;
}

TEST(Safetensors, AHeaderThatLiesIsRefusedAndSaysWhere) {
  const auto entry = [](const std::string& shape, const std::string& offsets) {
    return R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  const auto read = [](const std::string& header, std::uint64_t data) {
    const auto start = file_start(header);
    return parse_safetensors(start, start.size() + data);
  };
  EXPECT_TRUE(read(entry("[2,3]", "[0,24]"), 24));
  EXPECT_THAT(read(entry("[2,3]", "[0,24]"), 23).error().message, HasSubstr("outside the file"));
  EXPECT_THAT(read(entry("[2,3]", "[24,0]"), 24).error().message, HasSubstr("outside the file"));
  EXPECT_THAT(read(entry("[2,4]", "[0,24]"), 24).error().message, HasSubstr("does not fill"));
  EXPECT_THAT(read(entry("[-2,-3]", "[0,24]"), 24).error().message, HasSubstr("does not fill"));
  EXPECT_THAT(read(entry("[4611686018427387905,4]", "[0,16]"), 16).error().message,
              HasSubstr("does not fill"));
  EXPECT_THAT(read(entry("[2,3]", "[-1,24]"), 24).error().message, HasSubstr("outside the file"));
  EXPECT_FALSE(read(entry("7", "[0,24]"), 24));
  EXPECT_FALSE(read("[]", 0));
  EXPECT_FALSE(read("{", 0));
  EXPECT_THAT(read(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                       "b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                   12)
                  .error()
                  .message,
              HasSubstr("overlap"));
}

TEST(Safetensors, ALengthFieldBeyondTheFileIsRefused) {
  auto start = file_start("{}");
  EXPECT_TRUE(parse_safetensors(start, start.size()));
  start[4] = '\x7f';
  EXPECT_FALSE(parse_safetensors(start, start.size()));
  start[7] = '\xff';
  EXPECT_FALSE(parse_safetensors(start, start.size()));
  EXPECT_FALSE(parse_safetensors("abc", 3));
}

}  // namespace
}  // namespace swage::policy
