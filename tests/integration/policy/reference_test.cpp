// Our files in Hugging Face's libraries: the tokenizer must encode alike, the models compute alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/files.hpp"
#include "policy/model/decoder.hpp"
#include "policy/tokenizer/renderer.hpp"
#include "policy/tokenizer/trainer.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::policy {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

fs::path python() { return cache_directory() / "venv" / "bin" / "python"; }
fs::path source() { return environment_or("SWAGE_SOURCE_DIR", "."); }

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  char block[4096];
  for (std::size_t got = 0; (got = fread(block, 1, sizeof block, pipe)) > 0;)
    out.append(block, got);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return out;
}

std::string reference(const std::string& arguments) {
  return output_of(python().string() + " " +
                   (source() / "tests/integration/policy/reference.py").string() + " " + arguments);
}

class Reference : public testing::Test {
 protected:
  void require(const std::string& module) {
    if (std::system((python().string() + " -c 'import " + module + "' 2>/dev/null").c_str()) != 0)
      GTEST_SKIP() << "needs the Python package " << module << " (make setup)";
  }
  swage::test::TempDirectory directory_;
};

/// Source files of this repository, as they are and as they stand inside a JSON string.
std::vector<std::string> corpus() {
  std::vector<std::string> out{"",
                               "\n\n",
                               "a\\nb\\\\nc\n",
                               "tail without an end",
                               "12 345\n",
                               "Grüße, 世界 🙂 ½ Ⅷ ٣\r\n",
                               "<|user|> is text here <|end|>"};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(source() / "policy"))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) {
    out.push_back(*read_file(file));
    out.push_back(Json(out.back()).dump());
  }
  return out;
}

/// A text as `tokenizers` reads it, which always takes special tokens out of text.
bool has_special(const std::string& text) {
  return std::ranges::any_of(tiny_special_tokens(), [&](const std::string& token) {
    return text.find(token) != std::string::npos;
  });
}

TEST_F(Reference, TokenizersEncodesOurTrainedFileAsWeDo) {
  require("tokenizers");
  if (IsSkipped()) return;
  const auto texts = corpus();
  const auto file = directory_.path() / "tokenizer.json";
  const auto json = train_tokenizer({1024, tiny_special_tokens(), 2}, texts);
  std::ofstream(file) << json;
  std::ofstream(directory_.path() / "texts.json") << Json(texts).dump();
  const auto ours = *Tokenizer::parse(json);
  const auto theirs = Json::parse(
      reference("tokens " + file.string() + " " + (directory_.path() / "texts.json").string()));
  ASSERT_EQ(theirs.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(ours.encode(texts[i], has_special(texts[i])), theirs[i].get<std::vector<TokenId>>())
        << texts[i].substr(0, 80);
}

ModelConfig model_of(const std::string& family, bool tied, std::int64_t kv_heads) {
  ModelConfig c = tiny_config(97);
  c.family = family;
  c.layers = 2;
  c.hidden = 48;
  c.heads = 4;
  c.kv_heads = kv_heads;
  c.head_dim = family == "qwen3" ? 16 : 12;
  c.ffn = 80;
  c.context = 512;
  c.tied = tied;
  c.rope_theta = family == "llama" ? 1e4 : 1e6;
  c.initializer_range = 0.2;
  c.qkv_bias = family == "qwen2";
  c.qk_norm = family == "qwen3";
  return c;
}

TEST_F(Reference, TransformersComputesOurSavedModelsAsWeDo) {
  require("transformers");
  if (IsSkipped()) return;
  std::vector<std::uint32_t> ids;
  for (std::uint32_t i = 0; i < 60; ++i) ids.push_back((i * i * 7 + 3) % 97);
  std::vector<std::pair<fs::path, Decoder>> models;
  std::string arguments = "logits '" + Json(ids).dump() + "'";
  for (const std::string family : {"llama", "qwen2", "qwen3"}) {
    for (const bool tied : {false, true}) {
      for (const std::int64_t kv_heads : {1, 2, 4}) {
        const auto folder = directory_.path() /
                            (family + (tied ? "-tied-" : "-untied-") + std::to_string(kv_heads));
        models.emplace_back(folder, test::random_model(model_of(family, tied, kv_heads), 5));
        ASSERT_TRUE(save(models.back().second, folder));
        arguments += " " + folder.string();
      }
    }
  }
  reference(arguments);
  const auto batch = pack(std::vector<std::vector<std::uint32_t>>{ids});
  for (const auto& [folder, model] : models) {
    const auto raw = read_file(folder / "logits");
    ASSERT_TRUE(raw);
    const auto mine = model.logits(model.hidden(batch)).contiguous();
    ASSERT_EQ(raw->size(), mine.nbytes());
    const auto theirs = torch::empty_like(mine);
    std::memcpy(theirs.data_ptr(), raw->data(), raw->size());
    EXPECT_LT((mine - theirs).abs().max().item<double>(), 1e-4) << folder;
  }
}

}  // namespace
}  // namespace swage::policy
