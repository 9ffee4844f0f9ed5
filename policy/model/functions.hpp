#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace swage::policy {

/// x: fp32 [..., h] contiguous on the CPU, weight: [h]. Differentiable.
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double epsilon);

/// gate_up: fp32 [T, 2 f], gate first. Returns silu(gate) * up, [T, f]. Differentiable.
torch::Tensor swiglu(const torch::Tensor& gate_up);

/// Where rotary angles come from, and which rows belong to which sequence.
struct AttentionFrame {
  torch::Tensor cosine, sine;        ///< fp32 [context, d / 2]
  torch::Tensor positions;           ///< i32 [T]
  std::vector<std::int64_t> starts;  ///< [S + 1]
};

/// Rotary embedding and causal attention inside each sequence of a packed batch.
/// q: fp32 [T, heads, d]; k, v: [T, kv_heads, d]. Returns [T, heads * d]. Differentiable in q, k,
/// v.
torch::Tensor packed_attention(const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, const AttentionFrame& frame);

}  // namespace swage::policy
