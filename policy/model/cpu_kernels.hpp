#pragma once

#include <cstdint>
#include <span>

/// The decoder's float32 loops on the CPU: plain C++, no torch, no threads of their own. All arrays
/// are row-major and borrowed for the call. Each row's result depends on that row alone and is
/// summed in a fixed order, so it does not change with what else is in the batch.
namespace swage::policy::cpu {

/// y = x * rsqrt(mean(x^2) + epsilon) * weight for each row; inverse[row] is that rsqrt.
void rms_norm(const float* x, const float* weight, float epsilon, std::int64_t rows,
              std::int64_t width, float* y, float* inverse);

/// dx for each row; adds each row's part to dweight [width].
void rms_norm_backward(const float* dy, const float* x, const float* weight, const float* inverse,
                       std::int64_t rows, std::int64_t width, float* dx, float* dweight);

/// Cosines and sines of the rotary embedding, [positions, head_dim / 2] each.
struct RopeTable {
  const float* cosine;
  const float* sine;
  std::int64_t head_dim;
};

/// Rotates pairs (i, i + d/2) of one token's heads by its position's angles; `sign` -1 rotates
/// back. in, out: [heads, d]; they may be the same.
void rope(const float* in, const RopeTable& table, std::int64_t position, std::int64_t heads,
          float sign, float* out);

/// out = silu(gate) * up; gate_up: [rows, 2 * width], gate first. out: [rows, width].
void swiglu(const float* gate_up, std::int64_t rows, std::int64_t width, float* out);
void swiglu_backward(const float* dout, const float* gate_up, std::int64_t rows, std::int64_t width,
                     float* dgate_up);

/// One layer's keys and values in pages of `page_tokens` tokens, [pages, page_tokens, kv_heads, d].
struct PagedKv {
  float* keys;
  float* values;
  std::int64_t page_tokens, kv_heads, head_dim;
  std::int64_t token_offset(std::span<const std::int32_t> pages, std::int64_t position) const;
};

/// Attention of one token over the first `length` positions of its sequence.
/// q, out: [heads, d]; scratch: [length].
void attend(const float* q, const PagedKv& kv, std::span<const std::int32_t> pages,
            std::int64_t length, std::int64_t heads, float* scratch, float* out);

}  // namespace swage::policy::cpu
