#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/model/config.hpp"
#include "policy/model/kv_cache.hpp"

namespace swage::policy {

/// Sequences laid end to end without padding. They do not see each other.
struct PackedBatch {
  torch::Tensor ids;                 ///< i64 [T]
  torch::Tensor positions;           ///< i32 [T], position in the own sequence
  std::vector<std::int64_t> starts;  ///< [S + 1], rising from 0 to T; on the host
};

/// Packs whole sequences; positions start at 0 in each. Empty sequences are a bug.
PackedBatch pack(std::span<const std::vector<std::uint32_t>> sequences);

/// A trainable leaf. Fused matrices (q,k,v and gate,up) are one leaf.
struct Parameter {
  std::string name;
  torch::Tensor tensor;
  bool decays = false;  ///< weight decay applies: not to norms and biases
};

/// A tensor under its Hugging Face name; shares storage with the leaf it is part of.
struct NamedTensor {
  std::string name;
  torch::Tensor tensor;
};

/// The transformer that inference and training share; fp32 on the CPU. Not thread-safe: one thread
/// uses it. Copying shares the weights, clone() does not. Gradients flow where parameters require
/// them.
class Decoder {
 public:
  /// Fresh weights: matrices N(0, config.initializer_range) by `seed`, norms 1, biases 0.
  static Decoder scratch(const ModelConfig& config, std::uint64_t seed);
  /// From a folder with config.json and safetensors (one file, or shards with an index).
  /// One error lists every missing, left-over and mis-shaped tensor.
  static Result<Decoder, ModelError> load(const std::filesystem::path& folder);
  /// Unset weights, for whoever fills tensors() next.
  static Decoder unset(const ModelConfig& config);

  /// Hidden states after the last norm, [T, h]. Without `kv`: whole sequences, causal, gradients.
  /// With `kv`: batch holds the tokens that follow what the cache holds of each sequence; their
  /// keys and values are added to it; no gradients.
  torch::Tensor hidden(const PackedBatch& batch, const KvBatch* kv = nullptr) const;

  /// rows: [n, h] of hidden states. Returns fp32 [n, vocabulary]. Ask only for the rows you need.
  torch::Tensor logits(const torch::Tensor& rows) const;

  const ModelConfig& config() const { return config_; }
  std::vector<Parameter> parameters() const;
  std::vector<NamedTensor> tensors() const;
  void require_gradients(bool on);
  /// A deep copy without gradients.
  Decoder clone() const;
  /// [V, h]: the matrix of logits().
  const torch::Tensor& output_matrix() const { return config_.tied ? embedding_ : output_; }

 private:
  struct Layer {
    torch::Tensor input_norm, qkv, qkv_bias, q_norm, k_norm, out, out_bias;
    torch::Tensor post_norm, gate_up, gate_up_bias, down, down_bias;
  };
  explicit Decoder(const ModelConfig& config);
  torch::Tensor attention(const Layer& layer, const torch::Tensor& x, const PackedBatch& batch,
                          const KvBatch* kv, std::int64_t index) const;

  ModelConfig config_;
  torch::Tensor embedding_, final_norm_, output_;
  std::vector<Layer> layers_;
  torch::Tensor cosine_, sine_;  // [context, head_dim / 2]
};

/// The critic: a copy of a policy's trunk and a linear head, both zero at first.
class ValueModel {
 public:
  static ValueModel from_policy(const Decoder& policy);
  /// From a folder written by save(). Errors as Decoder::load.
  static Result<ValueModel, ModelError> load(const std::filesystem::path& folder);

  /// Values of all T positions, fp32 [T].
  torch::Tensor values(const PackedBatch& batch) const;

  const ModelConfig& config() const { return trunk_.config(); }
  std::vector<Parameter> parameters() const;
  std::vector<NamedTensor> tensors() const;
  void require_gradients(bool on);

 private:
  ValueModel(Decoder trunk, torch::Tensor weight, torch::Tensor bias)
      : trunk_(std::move(trunk)), weight_(std::move(weight)), bias_(std::move(bias)) {}
  Decoder trunk_;
  torch::Tensor weight_, bias_;  // [1, h], [1]
};

/// `scratch:tiny` by seed, or a folder.
Result<Decoder, ModelError> make_decoder(std::string_view source, std::int64_t vocabulary,
                                         std::uint64_t seed);

/// Writes config.json and model.safetensors (float32) into `folder`, which is made if missing, and
/// syncs them.
Result<void, ModelError> save(const Decoder& model, const std::filesystem::path& folder);
Result<void, ModelError> save(const ValueModel& model, const std::filesystem::path& folder);

/// The weights as one buffer by weight_layout(): what the learner broadcasts. Leaves padding zero.
std::string flat_weights(const Decoder& model);
/// A model out of such a buffer. Errors: mismatch if its size is not the layout's.
Result<Decoder, ModelError> from_flat_weights(const ModelConfig& config, std::string_view bytes);

}  // namespace swage::policy
