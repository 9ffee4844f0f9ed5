#include "policy/model/config.hpp"

#include <nlohmann/json.hpp>

#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "common/base/json_text.hpp"

namespace swage::policy {
namespace {

using Json = nlohmann::json;

tl::unexpected<ModelError> error(ModelErrc code, std::string message) {
  return tl::unexpected(ModelError{code, std::move(message)});
}

bool is_set(const Json& json, const char* field) {
  return json.contains(field) && !json.at(field).is_null();
}

template <class T>
T value_or(const Json& json, const char* field, T fallback) {
  return is_set(json, field) ? json.at(field).get<T>() : fallback;
}

/// The first field that asks for mathematics this program does not do; empty if there is none.
std::string unknown_part(const Json& json) {
  if (const auto act = value_or<std::string>(json, "hidden_act", "silu"); act != "silu")
    return "hidden_act: " + act;
  for (const char* field : {"num_experts", "num_local_experts", "n_routed_experts"})
    if (is_set(json, field)) return std::string(field) + ": mixture of experts";
  if (value_or(json, "use_sliding_window", false)) return "use_sliding_window";
  if (value_or(json, "partial_rotary_factor", 1.0) != 1.0) return "partial_rotary_factor";
  for (const char* field : {"rope_parameters", "rope_scaling"}) {
    if (!is_set(json, field)) continue;
    const auto& rope = json.at(field);
    const auto type =
        value_or<std::string>(rope, "rope_type", value_or<std::string>(rope, "type", "default"));
    if (type != "default") return std::string(field) + ".rope_type: " + type;
  }
  return {};
}

std::string wrong_number(const ModelConfig& c) {
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"num_hidden_layers", c.layers},  {"hidden_size", c.hidden},
      {"num_attention_heads", c.heads}, {"num_key_value_heads", c.kv_heads},
      {"head_dim", c.head_dim},         {"intermediate_size", c.ffn},
      {"vocab_size", c.vocabulary},     {"max_position_embeddings", c.context}};
  for (const auto& [name, size] : sizes)
    if (size < 1 || size > 100'000'000) return std::string(name) + ": " + std::to_string(size);
  if (c.heads % c.kv_heads != 0) return "num_key_value_heads: does not divide num_attention_heads";
  if (c.head_dim % 2 != 0) return "head_dim: odd";
  if (!(c.rms_epsilon > 0)) return "rms_norm_eps: not above 0";
  if (!(c.rope_theta > 0)) return "rope_theta: not above 0";
  return {};
}

double rope_theta(const Json& json) {
  if (is_set(json, "rope_parameters") && is_set(json.at("rope_parameters"), "rope_theta"))
    return json.at("rope_parameters").at("rope_theta").get<double>();
  return value_or(json, "rope_theta", 10000.0);
}

void read_family(const Json& json, ModelConfig& c) {
  const bool qwen2 = c.family == "qwen2";
  const bool attention_bias = value_or(json, "attention_bias", false);
  c.qkv_bias = qwen2 || attention_bias;
  c.output_bias = !qwen2 && attention_bias;
  c.mlp_bias = c.family == "llama" && value_or(json, "mlp_bias", false);
  c.qk_norm = c.family == "qwen3";
}

ModelConfig read_fields(const Json& json) {
  ModelConfig c;
  c.family = json.at("model_type").get<std::string>();
  c.layers = json.at("num_hidden_layers").get<std::int64_t>();
  c.hidden = json.at("hidden_size").get<std::int64_t>();
  c.heads = json.at("num_attention_heads").get<std::int64_t>();
  c.kv_heads = value_or(json, "num_key_value_heads", c.heads);
  c.head_dim = value_or(json, "head_dim", c.heads > 0 ? c.hidden / c.heads : 0);
  c.ffn = json.at("intermediate_size").get<std::int64_t>();
  c.vocabulary = json.at("vocab_size").get<std::int64_t>();
  c.context = value_or<std::int64_t>(json, "max_position_embeddings", 2048);
  c.rms_epsilon = value_or(json, "rms_norm_eps", 1e-6);
  c.rope_theta = rope_theta(json);
  c.initializer_range = value_or(json, "initializer_range", 0.02);
  c.tied = value_or(json, "tie_word_embeddings", false);
  read_family(json, c);
  return c;
}

std::string architecture(const ModelConfig& c, bool value_model) {
  const std::string name = c.family == "llama" ? "Llama" : c.family == "qwen2" ? "Qwen2" : "Qwen3";
  return name + (value_model ? "ForTokenClassification" : "ForCausalLM");
}

Json config_fields(const ModelConfig& c) {
  Json json = {{"model_type", c.family},
               {"num_hidden_layers", c.layers},
               {"hidden_size", c.hidden},
               {"num_attention_heads", c.heads},
               {"num_key_value_heads", c.kv_heads},
               {"head_dim", c.head_dim},
               {"intermediate_size", c.ffn},
               {"vocab_size", c.vocabulary},
               {"max_position_embeddings", c.context},
               {"rms_norm_eps", c.rms_epsilon},
               {"rope_theta", c.rope_theta},
               {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", c.rope_theta}}},
               {"tie_word_embeddings", c.tied},
               {"hidden_act", "silu"}};
  if (c.family != "qwen2") json["attention_bias"] = c.qkv_bias;
  if (c.family == "llama") json["mlp_bias"] = c.mlp_bias;
  return json;
}

void add_layer(const ModelConfig& c, std::int64_t index, std::vector<TensorSpec>& out) {
  const std::string at = "model.layers." + std::to_string(index) + ".";
  const auto q = c.heads * c.head_dim;
  const auto kv = c.kv_heads * c.head_dim;
  const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
    out.push_back({at + name, std::move(shape)});
  };
  const auto add_linear = [&](const std::string& name, std::int64_t rows, std::int64_t columns,
                              bool bias) {
    out.push_back({at + name + ".weight", {rows, columns}});
    if (bias) out.push_back({at + name + ".bias", {rows}});
  };
  add("input_layernorm.weight", {c.hidden});
  add_linear("self_attn.q_proj", q, c.hidden, c.qkv_bias);
  add_linear("self_attn.k_proj", kv, c.hidden, c.qkv_bias);
  add_linear("self_attn.v_proj", kv, c.hidden, c.qkv_bias);
  if (c.qk_norm) {
    add("self_attn.q_norm.weight", {c.head_dim});
    add("self_attn.k_norm.weight", {c.head_dim});
  }
  add_linear("self_attn.o_proj", c.hidden, q, c.output_bias);
  add("post_attention_layernorm.weight", {c.hidden});
  add_linear("mlp.gate_proj", c.ffn, c.hidden, c.mlp_bias);
  add_linear("mlp.up_proj", c.ffn, c.hidden, c.mlp_bias);
  add_linear("mlp.down_proj", c.hidden, c.ffn, c.mlp_bias);
}

}  // namespace

ModelConfig tiny_config(std::int64_t vocabulary) {
  ModelConfig c;
  c.layers = 4;
  c.hidden = 128;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 32;
  c.ffn = 384;
  c.vocabulary = vocabulary;
  c.context = 32'768;
  c.tied = true;
  c.initializer_range = 0.08;  // with the usual 0.02, 128 dimensions hardly learn
  return c;
}

Result<ModelConfig, ModelError> parse_config(std::string_view text) {
  const auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return error(ModelErrc::malformed, "config.json: not a JSON object");
  try {
    const auto family = json.at("model_type").get<std::string>();
    if (family != "llama" && family != "qwen2" && family != "qwen3")
      return error(ModelErrc::unsupported,
                   "config.json: model_type: " + family + " (known: llama, qwen2, qwen3)");
    if (const auto part = unknown_part(json); !part.empty())
      return error(ModelErrc::unsupported, "config.json: " + part);
    auto config = read_fields(json);
    if (const auto wrong = wrong_number(config); !wrong.empty())
      return error(ModelErrc::malformed, "config.json: " + wrong);
    return config;
  } catch (const Json::exception& e) {
    return error(ModelErrc::malformed, std::string("config.json: ") + e.what());
  }
}

std::string config_json(const ModelConfig& c, bool value_model) {
  auto json = config_fields(c);
  json["architectures"] = {architecture(c, value_model)};
  json["initializer_range"] = c.initializer_range;
  json["dtype"] = "float32";
  json["torch_dtype"] = "float32";  // its name before transformers 5
  if (value_model) {
    json["num_labels"] = 1;
    json["id2label"] = {{"0", "value"}};
    json["label2id"] = {{"value", 0}};
  }
  return json_text(json, 2) + "\n";
}

std::string config_digest(const ModelConfig& config) {
  return sha256_hex(json_text(config_fields(config)));
}

Result<ModelConfig, ModelError> model_config(std::string_view source, std::int64_t vocabulary) {
  if (source == "scratch:tiny") return tiny_config(vocabulary);
  if (source.starts_with("scratch:"))
    return error(ModelErrc::unsupported,
                 "model source `" + std::string(source) + "`: known are scratch:tiny and a folder");
  const auto file = std::filesystem::path(source) / "config.json";
  const auto text = read_file(file);
  if (!text) return error(ModelErrc::unreadable, text.error().message);
  auto config = parse_config(*text);
  if (config && config->vocabulary < vocabulary)
    return error(ModelErrc::mismatch,
                 file.string() + ": vocab_size " + std::to_string(config->vocabulary) +
                     " is below the tokenizer's " + std::to_string(vocabulary));
  return config;
}

std::vector<TensorSpec> tensor_specs(const ModelConfig& c) {
  std::vector<TensorSpec> out;
  out.push_back({"model.embed_tokens.weight", {c.vocabulary, c.hidden}});
  for (std::int64_t i = 0; i < c.layers; ++i) add_layer(c, i, out);
  out.push_back({"model.norm.weight", {c.hidden}});
  if (!c.tied) out.push_back({"lm_head.weight", {c.vocabulary, c.hidden}});
  return out;
}

WeightLayout weight_layout(const ModelConfig& config) {
  constexpr std::uint64_t kAlignment = 256;
  WeightLayout layout;
  for (auto& [name, shape] : tensor_specs(config)) {
    std::uint64_t bytes = 4;
    for (const auto size : shape) bytes *= static_cast<std::uint64_t>(size);
    layout.tensors.push_back({name, shape, layout.total_bytes, bytes});
    layout.total_bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return layout;
}

}  // namespace swage::policy
