#include "policy/model/decoder.hpp"

#include <ATen/Parallel.h>

#include <cmath>
#include <cstring>
#include <map>

#include "common/base/check.hpp"
#include "policy/model/cpu_kernels.hpp"
#include "policy/model/functions.hpp"

namespace swage::policy {
namespace {

using torch::Tensor;

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
}

/// Angles position * theta^(-2i/d), as cosines and sines.
std::pair<Tensor, Tensor> rope_tables(const ModelConfig& config) {
  const auto half = config.head_dim / 2;
  auto inverse = torch::empty({half}, torch::kFloat32);
  for (std::int64_t i = 0; i < half; ++i) {
    const double power = static_cast<double>(2 * i) / static_cast<double>(config.head_dim);
    inverse[i] = static_cast<float>(1.0 / std::pow(config.rope_theta, power));
  }
  const auto angles = torch::outer(torch::arange(config.context, torch::kFloat32), inverse);
  return {angles.cos(), angles.sin()};
}

/// Adds the new tokens' keys and values to the cache and attends from them. q: [T, heads, d],
/// k, v: [T, kv_heads, d], rows may be strided. Returns [T, heads * d].
Tensor cached_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                        const AttentionFrame& frame, const KvBatch& batch, std::int64_t layer) {
  const auto heads = q.size(1);
  const auto kv_heads = k.size(1);
  const auto d = q.size(2);
  const cpu::PagedKv kv{batch.cache.keys(layer).data_ptr<float>(),
                        batch.cache.values(layer).data_ptr<float>(), kPageTokens, kv_heads, d};
  const cpu::RopeTable table{frame.cosine.data_ptr<float>(), frame.sine.data_ptr<float>(), d};
  const auto out = torch::empty({q.size(0), heads * d}, q.options());
  float* out_at = out.data_ptr<float>();
  const float* q_at = q.data_ptr<float>();
  const float* k_at = k.data_ptr<float>();
  const float* v_at = v.data_ptr<float>();
  std::vector<std::size_t> owner(static_cast<std::size_t>(q.size(0)));
  for (std::size_t s = 0; s < batch.sequences.size(); ++s) {
    const auto& sequence = batch.sequences[s];
    for (auto t = frame.starts[s]; t < frame.starts[s + 1]; ++t) {
      owner[static_cast<std::size_t>(t)] = s;
      const auto position = sequence.past + t - frame.starts[s];
      const auto at = kv.token_offset(sequence.pages, position);
      cpu::rope(k_at + t * k.stride(0), table, position, kv_heads, 1.0F, kv.keys + at);
      std::memcpy(kv.values + at, v_at + t * v.stride(0),
                  static_cast<std::size_t>(kv_heads * d) * sizeof(float));
    }
  }
  at::parallel_for(0, q.size(0), 4, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> rotated(static_cast<std::size_t>(heads * d));
    std::vector<float> scratch;
    for (auto t = begin; t < end; ++t) {
      const auto s = owner[static_cast<std::size_t>(t)];
      const auto& sequence = batch.sequences[s];
      const auto position = sequence.past + t - frame.starts[s];
      scratch.resize(static_cast<std::size_t>(position + 1));
      cpu::rope(q_at + t * q.stride(0), table, position, heads, 1.0F, rotated.data());
      cpu::attend(rotated.data(), kv, sequence.pages, position + 1, heads, scratch.data(),
                  out_at + t * heads * d);
    }
  });
  return out;
}

}  // namespace

PackedBatch pack(std::span<const std::vector<std::uint32_t>> sequences) {
  PackedBatch batch;
  batch.starts.push_back(0);
  for (const auto& ids : sequences) {
    check(!ids.empty(), "pack: an empty sequence");
    batch.starts.push_back(batch.starts.back() + static_cast<std::int64_t>(ids.size()));
  }
  batch.ids = torch::empty({batch.starts.back()}, torch::kInt64);
  batch.positions = torch::empty({batch.starts.back()}, torch::kInt32);
  auto* id = batch.ids.data_ptr<std::int64_t>();
  auto* position = batch.positions.data_ptr<std::int32_t>();
  for (const auto& ids : sequences) {
    std::int32_t next = 0;
    for (const auto value : ids) {
      *id++ = value;
      *position++ = next++;
    }
  }
  return batch;
}

Decoder::Decoder(const ModelConfig& config) : config_(config) {
  const auto matrix = [](std::int64_t rows, std::int64_t columns) {
    return torch::zeros({rows, columns}, torch::kFloat32);
  };
  const auto bias = [](std::int64_t size, bool there) {
    return there ? torch::zeros({size}, torch::kFloat32) : Tensor();
  };
  const auto norm = [](std::int64_t size) { return torch::ones({size}, torch::kFloat32); };
  const auto q = config.heads * config.head_dim;
  const auto kv = config.kv_heads * config.head_dim;
  embedding_ = matrix(config.vocabulary, config.hidden);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    Layer layer;
    layer.input_norm = norm(config.hidden);
    layer.qkv = matrix(q + 2 * kv, config.hidden);
    layer.qkv_bias = bias(q + 2 * kv, config.qkv_bias);
    if (config.qk_norm) layer.q_norm = norm(config.head_dim);
    if (config.qk_norm) layer.k_norm = norm(config.head_dim);
    layer.out = matrix(config.hidden, q);
    layer.out_bias = bias(config.hidden, config.output_bias);
    layer.post_norm = norm(config.hidden);
    layer.gate_up = matrix(2 * config.ffn, config.hidden);
    layer.gate_up_bias = bias(2 * config.ffn, config.mlp_bias);
    layer.down = matrix(config.hidden, config.ffn);
    layer.down_bias = bias(config.hidden, config.mlp_bias);
    layers_.push_back(std::move(layer));
  }
  final_norm_ = norm(config.hidden);
  if (!config.tied) output_ = matrix(config.vocabulary, config.hidden);
  std::tie(cosine_, sine_) = rope_tables(config);
}

Decoder Decoder::unset(const ModelConfig& config) { return Decoder(config); }

Decoder Decoder::scratch(const ModelConfig& config, std::uint64_t seed) {
  Decoder model(config);
  auto generator = at::detail::createCPUGenerator(seed);
  const torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : model.tensors())
    if (tensor.dim() == 2) tensor.normal_(0.0, config.initializer_range, generator);
  return model;
}

Tensor Decoder::attention(const Layer& layer, const Tensor& x, const PackedBatch& batch,
                          const KvBatch* kv, std::int64_t index) const {
  const auto heads = config_.heads;
  const auto kv_heads = config_.kv_heads;
  const auto d = config_.head_dim;
  const auto parts = linear(x, layer.qkv, layer.qkv_bias)
                         .split_with_sizes({heads * d, kv_heads * d, kv_heads * d}, 1);
  auto q = parts[0].unflatten(1, {heads, d});
  auto k = parts[1].unflatten(1, {kv_heads, d});
  const auto v = parts[2].unflatten(1, {kv_heads, d});
  if (config_.qk_norm) {
    q = rms_norm(q, layer.q_norm, config_.rms_epsilon);
    k = rms_norm(k, layer.k_norm, config_.rms_epsilon);
  }
  const AttentionFrame frame{cosine_, sine_, batch.positions, batch.starts};
  const auto mixed =
      kv ? cached_attention(q, k, v, frame, *kv, index) : packed_attention(q, k, v, frame);
  return linear(mixed, layer.out, layer.out_bias);
}

Tensor Decoder::hidden(const PackedBatch& batch, const KvBatch* kv) const {
  const torch::AutoGradMode gradients(kv == nullptr && torch::GradMode::is_enabled());
  check(!kv || kv->sequences.size() + 1 == batch.starts.size(), "one KvSequence per sequence");
  auto x = at::embedding(embedding_, batch.ids);
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    const auto& layer = layers_[static_cast<std::size_t>(i)];
    x = x + attention(layer, rms_norm(x, layer.input_norm, config_.rms_epsilon), batch, kv, i);
    const auto inner = linear(rms_norm(x, layer.post_norm, config_.rms_epsilon), layer.gate_up,
                              layer.gate_up_bias);
    x = x + linear(swiglu(inner), layer.down, layer.down_bias);
  }
  return rms_norm(x, final_norm_, config_.rms_epsilon);
}

Tensor Decoder::logits(const Tensor& rows) const { return at::linear(rows, output_matrix()); }

std::vector<Parameter> Decoder::parameters() const {
  std::vector<Parameter> out;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    if (tensor.defined()) out.push_back({name, tensor, tensor.dim() == 2});
  };
  add("embedding", embedding_);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto at = "layers." + std::to_string(i) + ".";
    const auto& layer = layers_[i];
    add(at + "input_norm", layer.input_norm);
    add(at + "qkv", layer.qkv);
    add(at + "qkv_bias", layer.qkv_bias);
    add(at + "q_norm", layer.q_norm);
    add(at + "k_norm", layer.k_norm);
    add(at + "out", layer.out);
    add(at + "out_bias", layer.out_bias);
    add(at + "post_norm", layer.post_norm);
    add(at + "gate_up", layer.gate_up);
    add(at + "gate_up_bias", layer.gate_up_bias);
    add(at + "down", layer.down);
    add(at + "down_bias", layer.down_bias);
  }
  add("final_norm", final_norm_);
  add("output", output_);
  return out;
}

std::vector<NamedTensor> Decoder::tensors() const {
  const torch::NoGradGuard no_grad;
  std::map<std::string, Tensor> by_name{{"model.embed_tokens.weight", embedding_.detach()},
                                        {"model.norm.weight", final_norm_.detach()}};
  if (output_.defined()) by_name["lm_head.weight"] = output_.detach();
  const auto q = config_.heads * config_.head_dim;
  const auto kv = config_.kv_heads * config_.head_dim;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto at = "model.layers." + std::to_string(i) + ".";
    const auto& layer = layers_[i];
    const auto add = [&](const std::string& name, const Tensor& tensor) {
      if (tensor.defined()) by_name[at + name] = tensor.detach();
    };
    const auto add_rows = [&](const std::string& name, const Tensor& fused, std::int64_t begin,
                              std::int64_t rows) {
      if (fused.defined()) by_name[at + name] = fused.detach().narrow(0, begin, rows);
    };
    for (const auto& [suffix, qkv, gate_up] :
         {std::tuple(".weight", layer.qkv, layer.gate_up),
          std::tuple(".bias", layer.qkv_bias, layer.gate_up_bias)}) {
      add_rows(std::string("self_attn.q_proj") + suffix, qkv, 0, q);
      add_rows(std::string("self_attn.k_proj") + suffix, qkv, q, kv);
      add_rows(std::string("self_attn.v_proj") + suffix, qkv, q + kv, kv);
      add_rows(std::string("mlp.gate_proj") + suffix, gate_up, 0, config_.ffn);
      add_rows(std::string("mlp.up_proj") + suffix, gate_up, config_.ffn, config_.ffn);
    }
    add("input_layernorm.weight", layer.input_norm);
    add("self_attn.q_norm.weight", layer.q_norm);
    add("self_attn.k_norm.weight", layer.k_norm);
    add("self_attn.o_proj.weight", layer.out);
    add("self_attn.o_proj.bias", layer.out_bias);
    add("post_attention_layernorm.weight", layer.post_norm);
    add("mlp.down_proj.weight", layer.down);
    add("mlp.down_proj.bias", layer.down_bias);
  }
  std::vector<NamedTensor> out;
  for (const auto& spec : tensor_specs(config_)) out.push_back({spec.name, by_name.at(spec.name)});
  return out;
}

void Decoder::require_gradients(bool on) {
  for (auto& parameter : parameters()) parameter.tensor.set_requires_grad(on);
}

Decoder Decoder::clone() const {
  Decoder copy(config_);
  const torch::NoGradGuard no_grad;
  const auto from = parameters();
  auto to = copy.parameters();
  for (std::size_t i = 0; i < from.size(); ++i) to[i].tensor.copy_(from[i].tensor);
  return copy;
}

}  // namespace swage::policy
