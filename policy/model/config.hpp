#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "policy/api/weights.hpp"

namespace swage::policy {

enum class ModelErrc {
  unreadable,   ///< a file is missing or cannot be read
  malformed,    ///< a file contradicts itself or its format
  unsupported,  ///< a valid model with a part that this program does not know
  mismatch,     ///< tensors are missing, left over or of another shape
  unwritable,   ///< the disk refused
};

constexpr FailureKind kind_of(ModelErrc) { return FailureKind::give_up; }

/// `message` names file, field or tensors, for people.
struct ModelError {
  ModelErrc code = ModelErrc::malformed;
  std::string message;
};

/// A pre-norm decoder with SwiGLU and grouped-query attention: llama, qwen2 or qwen3.
struct ModelConfig {
  std::string family = "llama";  ///< Hugging Face `model_type`
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< divides heads
  std::int64_t head_dim = 0;  ///< even
  std::int64_t ffn = 0;
  std::int64_t vocabulary = 0;
  std::int64_t context = 0;  ///< most positions
  double rms_epsilon = 1e-6;
  double rope_theta = 10000.0;
  double initializer_range = 0.02;  ///< standard deviation of a fresh model's matrices
  bool tied = false;                ///< the output matrix is the embedding
  bool qkv_bias = false;
  bool output_bias = false;  ///< on o_proj
  bool mlp_bias = false;
  bool qk_norm = false;  ///< RMSNorm over head_dim on queries and keys
  bool operator==(const ModelConfig&) const = default;
};

/// `scratch:tiny`: llama, 4 layers, hidden 128, heads 4/2, ffn 384, tied, context 32,768.
ModelConfig tiny_config(std::int64_t vocabulary);

/// source: `scratch:tiny`, or a folder with a Hugging Face config.json. vocabulary: the tokenizer's
/// number of ids; a folder's model must have at least as many. Errors name the field.
Result<ModelConfig, ModelError> model_config(std::string_view source, std::int64_t vocabulary);

/// From and to the text of a config.json. What this program does not compute is refused by name.
Result<ModelConfig, ModelError> parse_config(std::string_view json);
std::string config_json(const ModelConfig& config, bool value_model = false);

/// SHA-256 over the fields that decide shapes and mathematics, 64 hex digits. Equal digests:
/// weights of one model are valid for the other.
std::string config_digest(const ModelConfig& config);

/// A tensor of a checkpoint.
struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// All tensors of the policy, Hugging Face names, in checkpoint order; a tied lm_head is not
/// listed.
std::vector<TensorSpec> tensor_specs(const ModelConfig& config);

/// The same tensors as float32 in one buffer, each aligned to 256 bytes.
WeightLayout weight_layout(const ModelConfig& config);

}  // namespace swage::policy
