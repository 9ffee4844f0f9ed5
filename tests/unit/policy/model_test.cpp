#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "policy/model/decoder.hpp"
#include "tests/support/random_model.hpp"

namespace swage::policy {
namespace {

using testing::HasSubstr;
using torch::Tensor;

ModelConfig small(const std::string& family, bool tied, std::int64_t kv_heads) {
  ModelConfig c;
  c.family = family;
  c.layers = 2;
  c.hidden = 24;
  c.heads = 4;
  c.kv_heads = kv_heads;
  c.head_dim = family == "qwen3" ? 8 : 6;
  c.ffn = 40;
  c.vocabulary = 50;
  c.context = 256;
  c.tied = tied;
  c.initializer_range = 0.3;
  c.qkv_bias = family == "qwen2";
  c.qk_norm = family == "qwen3";
  return c;
}

Decoder random_model(const ModelConfig& config) { return test::random_model(config, 7); }

std::vector<std::vector<std::uint32_t>> some_sequences(std::int64_t vocabulary) {
  std::vector<std::vector<std::uint32_t>> out;
  std::uint32_t next = 3;
  for (const std::size_t length : {1U, 9U, 70U, 2U}) {
    out.emplace_back();
    for (std::size_t i = 0; i < length; ++i)
      out.back().push_back((next = next * 7 + 5) % static_cast<std::uint32_t>(vocabulary));
  }
  return out;
}

/// The same mathematics written from the definitions, one sequence, plain operators.
class Reference {
 public:
  explicit Reference(const Decoder& model) : c_(model.config()) {
    for (const auto& [name, tensor] : model.tensors())
      w_[name] = tensor.to(torch::kFloat64).set_requires_grad(true);
  }
  Tensor gradient(const std::string& name) const { return w(name).grad(); }

  Tensor logits(const std::vector<std::uint32_t>& ids) const {
    const auto n = static_cast<std::int64_t>(ids.size());
    Tensor one_hot = torch::zeros({n, c_.vocabulary}, torch::kFloat64);
    for (std::int64_t t = 0; t < n; ++t) one_hot[t][ids[static_cast<std::size_t>(t)]] = 1;
    Tensor x = one_hot.matmul(w("model.embed_tokens.weight"));
    for (std::int64_t i = 0; i < c_.layers; ++i) {
      const auto at = "model.layers." + std::to_string(i) + ".";
      x = x + attention(at + "self_attn.", norm(x, at + "input_layernorm.weight"));
      const auto y = norm(x, at + "post_attention_layernorm.weight");
      const auto gate = project(at + "mlp.gate_proj", y);
      x = x + project(at + "mlp.down_proj",
                      gate * torch::sigmoid(gate) * project(at + "mlp.up_proj", y));
    }
    x = norm(x, "model.norm.weight");
    return x.matmul(w(c_.tied ? "model.embed_tokens.weight" : "lm_head.weight").t());
  }

 private:
  const Tensor& w(const std::string& name) const { return w_.at(name); }
  Tensor norm(const Tensor& x, const std::string& name) const {
    return x * torch::rsqrt(x.pow(2).mean(-1, true) + c_.rms_epsilon) * w(name);
  }
  Tensor project(const std::string& name, const Tensor& x) const {
    const auto y = x.matmul(w(name + ".weight").t());
    const auto bias = w_.find(name + ".bias");
    return bias == w_.end() ? y : y + bias->second;
  }
  Tensor rotated(const Tensor& x) const {  // [n, d]
    const auto half = c_.head_dim / 2;
    const auto power =
        torch::arange(half, torch::kFloat64) * (-2.0 / static_cast<double>(2 * half));
    const auto angle =
        torch::outer(torch::arange(x.size(0), torch::kFloat64),
                     torch::pow(torch::full({half}, c_.rope_theta, torch::kFloat64), power));
    const auto a = x.narrow(1, 0, half);
    const auto b = x.narrow(1, half, half);
    return torch::cat({a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()}, 1);
  }
  Tensor attention(const std::string& at, const Tensor& x) const {
    const auto d = c_.head_dim;
    const auto q = project(at + "q_proj", x);
    const auto k = project(at + "k_proj", x);
    const auto v = project(at + "v_proj", x);
    const auto mask = torch::ones({x.size(0), x.size(0)}, torch::kBool).tril();
    std::vector<Tensor> heads;
    for (std::int64_t h = 0; h < c_.heads; ++h) {
      const auto g = h / (c_.heads / c_.kv_heads);
      auto qh = q.narrow(1, h * d, d);
      auto kh = k.narrow(1, g * d, d);
      if (c_.qk_norm) qh = norm(qh, at + "q_norm.weight");
      if (c_.qk_norm) kh = norm(kh, at + "k_norm.weight");
      const auto scores = rotated(qh).matmul(rotated(kh).t()) / std::sqrt(static_cast<double>(d));
      heads.push_back(
          scores.masked_fill(~mask, -INFINITY).softmax(-1).matmul(v.narrow(1, g * d, d)));
    }
    return project(at + "o_proj", torch::cat(heads, 1));
  }

  ModelConfig c_;
  std::map<std::string, Tensor> w_;
};

double largest(const Tensor& difference) { return difference.abs().max().item<double>(); }

class Families : public testing::TestWithParam<std::tuple<std::string, bool, std::int64_t>> {
 protected:
  ModelConfig config_ = std::apply(small, GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, Families,
                         testing::Combine(testing::Values("llama", "qwen2", "qwen3"),
                                          testing::Bool(), testing::Values(1, 2, 4)));

TEST_P(Families, PackedLogitsAgreeWithTheDefinitionOnEachSequenceAlone) {
  const auto model = random_model(config_);
  const auto sequences = some_sequences(config_.vocabulary);
  const auto batch = pack(sequences);
  const auto logits = model.logits(model.hidden(batch));
  const Reference reference(model);
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const auto mine = logits.slice(0, batch.starts[s], batch.starts[s + 1]).to(torch::kFloat64);
    EXPECT_LT(largest(mine - reference.logits(sequences[s])), 1e-4);
  }
}

TEST_P(Families, AKeyValueCacheFilledInUnequalStepsGivesTheSameHiddenStates) {
  const torch::NoGradGuard no_grad;
  const auto model = random_model(config_);
  const auto sequences = some_sequences(config_.vocabulary);
  const auto whole = pack(sequences);
  const auto expected = model.hidden(whole);
  KvCache cache(config_, 8);
  // Pages out of order and shared by nobody; 70 tokens need two.
  const std::vector<std::vector<std::int32_t>> pages{{5}, {2}, {7, 0}, {1}};
  std::vector<std::int64_t> past(sequences.size());
  for (std::size_t step = 1;; ++step) {
    KvBatch kv{cache, {}};
    std::vector<std::vector<std::uint32_t>> next;
    std::vector<std::size_t> who;
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      const auto begin = static_cast<std::size_t>(past[s]);
      const auto take = std::min(sequences[s].size() - begin, 13 * step * (s + 1));
      if (take == 0) continue;
      next.emplace_back(sequences[s].begin() + past[s],
                        sequences[s].begin() + past[s] + static_cast<std::int64_t>(take));
      kv.sequences.push_back({pages[s], past[s]});
      who.push_back(s);
    }
    if (next.empty()) break;
    const auto batch = pack(next);
    const auto got = model.hidden(batch, &kv);
    for (std::size_t i = 0; i < who.size(); ++i) {
      const auto from = whole.starts[who[i]] + past[who[i]];
      const auto length = batch.starts[i + 1] - batch.starts[i];
      EXPECT_LT(largest(got.slice(0, batch.starts[i], batch.starts[i + 1]) -
                        expected.slice(0, from, from + length)),
                1e-4);
      past[who[i]] += length;
    }
  }
}

TEST_P(Families, GradientsAgreeWithTheDefinitions) {
  auto model = random_model(config_);
  model.require_gradients(true);
  const auto sequences = some_sequences(config_.vocabulary);
  const auto batch = pack(sequences);
  const auto weights =
      torch::randn({batch.starts.back(), config_.vocabulary}, at::detail::createCPUGenerator(3));
  (model.logits(model.hidden(batch)).log_softmax(-1) * weights).sum().backward();

  const Reference reference(model);
  for (std::size_t s = 0; s < sequences.size(); ++s)
    (reference.logits(sequences[s]).log_softmax(-1) *
     weights.slice(0, batch.starts[s], batch.starts[s + 1]))
        .sum()
        .backward();

  // A model whose weights are the gradients shows them under their Hugging Face names.
  const torch::NoGradGuard no_grad;
  const auto gradients = Decoder::unset(config_);
  const auto leaves = model.parameters();
  for (std::size_t i = 0; i < leaves.size(); ++i)
    gradients.parameters()[i].tensor.copy_(leaves[i].tensor.grad());
  for (const auto& [name, mine] : gradients.tensors()) {
    const auto expected = reference.gradient(name);
    EXPECT_LT(largest(mine.to(torch::kFloat64) - expected), 1e-5 * (1 + largest(expected))) << name;
  }
}

TEST(Decoder, ScratchWeightsDependOnTheSeedOnly) {
  const auto config = tiny_config(300);
  EXPECT_EQ(flat_weights(Decoder::scratch(config, 1)), flat_weights(Decoder::scratch(config, 1)));
  EXPECT_NE(flat_weights(Decoder::scratch(config, 1)), flat_weights(Decoder::scratch(config, 2)));
  const auto embedding = Decoder::scratch(config, 1).tensors().front().tensor;
  EXPECT_NEAR(embedding.std().item<double>(), 0.08, 0.002);
}

class Folder : public testing::Test {
 protected:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "swage-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() override { std::filesystem::remove_all(path_); }
  std::filesystem::path path_;
};
using Checkpoint = Folder;

TEST_F(Checkpoint, ASavedModelLoadsWithTheSameBits) {
  const auto model = random_model(small("qwen3", false, 2));
  ASSERT_TRUE(save(model, path_));
  const auto loaded = Decoder::load(path_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config(), model.config());
  EXPECT_EQ(flat_weights(*loaded), flat_weights(model));
}

TEST_F(Checkpoint, OneErrorListsEveryTensorThatIsMissingLeftOverOrMisshaped) {
  ASSERT_TRUE(save(random_model(small("qwen3", false, 2)), path_));
  auto other = small("qwen2", false, 2);
  other.ffn = 41;
  std::ofstream(path_ / "config.json") << config_json(other);
  const auto loaded = Decoder::load(path_);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ModelErrc::mismatch);
  EXPECT_THAT(loaded.error().message, HasSubstr("missing: model.layers.0.self_attn.q_proj.bias"));
  EXPECT_THAT(loaded.error().message,
              HasSubstr("left over: model.layers.1.self_attn.q_norm.weight"));
  EXPECT_THAT(loaded.error().message,
              HasSubstr("shape: model.layers.1.mlp.down_proj.weight is [24, 40], not [24, 41]"));
}

TEST_F(Checkpoint, ATruncatedFileIsAnErrorAndNotACrash) {
  ASSERT_TRUE(save(random_model(small("llama", true, 2)), path_));
  const auto file = path_ / "model.safetensors";
  const auto size = std::filesystem::file_size(file);
  for (const auto keep : {size - 1, size / 2, std::uintmax_t{200}, std::uintmax_t{3}}) {
    std::filesystem::resize_file(file, keep);
    const auto loaded = Decoder::load(path_);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ModelErrc::malformed);
  }
}

TEST_F(Checkpoint, AValueModelKeepsItsTrunkAndItsHead) {
  const auto policy = random_model(small("llama", false, 2));
  auto critic = ValueModel::from_policy(policy);
  const auto batch = pack(some_sequences(50));
  EXPECT_EQ(largest(critic.values(batch)), 0.0);  // the head starts at zero
  for (auto& [name, tensor] : critic.tensors())
    if (name == "score.weight") tensor.fill_(0.5);
  ASSERT_TRUE(save(critic, path_));
  const auto loaded = ValueModel::load(path_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(largest(loaded->values(batch) - critic.values(batch)), 0.0);
  const auto expected = policy.hidden(batch).sum(1) * 0.5;
  EXPECT_LT(largest(loaded->values(batch) - expected), 1e-4);
}

TEST(FlatWeights, ABufferOfTheWrongSizeIsRefusedAndTheRightOneIsTaken) {
  const auto model = random_model(small("llama", true, 1));
  const auto bytes = flat_weights(model);
  const auto copy = from_flat_weights(model.config(), bytes);
  ASSERT_TRUE(copy);
  EXPECT_EQ(flat_weights(*copy), bytes);
  EXPECT_FALSE(from_flat_weights(model.config(), std::string_view(bytes).substr(1)));
}

}  // namespace
}  // namespace swage::policy
