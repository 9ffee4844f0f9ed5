#include "policy/model/cpu_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

// Sums may be split over vector lanes; the split is fixed when this file is compiled.
#pragma clang fp reassociate(on)
#pragma clang fp contract(fast)

// One copy per instruction set, picked when the program is loaded. Sanitizers cannot instrument the
// resolver that does the picking.
#if defined(__x86_64__) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define SWAGE_VECTORISED \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SWAGE_VECTORISED
#endif
#define SWAGE_INLINE __attribute__((always_inline)) inline

namespace swage::policy::cpu {
namespace {

/// exp(x) within 2e-7 relative, in a form that compilers vectorise; the polynomial is Cephes' expf.
SWAGE_INLINE float fast_exp(float x) {
  x = std::min(std::max(x, -87.0F), 88.0F);
  const float n = std::floor(x * 1.44269504088896341F + 0.5F);
  const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  return p * std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
}

SWAGE_INLINE float dot(const float* a, const float* b, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

SWAGE_INLINE float sigmoid(float x) { return 1.0F / (1.0F + fast_exp(-x)); }

}  // namespace

SWAGE_VECTORISED void rms_norm(const float* x, const float* weight, float epsilon,
                               std::int64_t rows, std::int64_t width, float* y, float* inverse) {
  for (std::int64_t row = 0; row < rows; ++row, x += width, y += width) {
    const float mean = dot(x, x, width) / static_cast<float>(width);
    const float scale = 1.0F / std::sqrt(mean + epsilon);
    inverse[row] = scale;
    for (std::int64_t i = 0; i < width; ++i) y[i] = x[i] * scale * weight[i];
  }
}

SWAGE_VECTORISED void rms_norm_backward(const float* dy, const float* x, const float* weight,
                                        const float* inverse, std::int64_t rows, std::int64_t width,
                                        float* dx, float* dweight) {
  for (std::int64_t row = 0; row < rows; ++row, x += width, dy += width, dx += width) {
    const float scale = inverse[row];
    float along = 0;
    for (std::int64_t i = 0; i < width; ++i) along += dy[i] * weight[i] * x[i];
    along *= scale * scale / static_cast<float>(width);
    for (std::int64_t i = 0; i < width; ++i) {
      dx[i] = scale * (dy[i] * weight[i] - x[i] * along);
      dweight[i] += dy[i] * x[i] * scale;
    }
  }
}

SWAGE_VECTORISED void rope(const float* in, const RopeTable& table, std::int64_t position,
                           std::int64_t heads, float sign, float* out) {
  const std::int64_t half = table.head_dim / 2;
  const float* cosine = table.cosine + position * half;
  const float* sine = table.sine + position * half;
  for (std::int64_t head = 0; head < heads; ++head, in += 2 * half, out += 2 * half) {
    for (std::int64_t i = 0; i < half; ++i) {
      const float a = in[i];
      const float b = in[i + half];
      const float s = sign * sine[i];
      out[i] = a * cosine[i] - b * s;
      out[i + half] = b * cosine[i] + a * s;
    }
  }
}

SWAGE_VECTORISED void swiglu(const float* gate_up, std::int64_t rows, std::int64_t width,
                             float* out) {
  for (std::int64_t row = 0; row < rows; ++row, gate_up += 2 * width, out += width) {
    const float* up = gate_up + width;
    for (std::int64_t i = 0; i < width; ++i) out[i] = gate_up[i] * sigmoid(gate_up[i]) * up[i];
  }
}

SWAGE_VECTORISED void swiglu_backward(const float* dout, const float* gate_up, std::int64_t rows,
                                      std::int64_t width, float* dgate_up) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* up = gate_up + width;
    float* dup = dgate_up + width;
    for (std::int64_t i = 0; i < width; ++i) {
      const float gate = gate_up[i];
      const float s = sigmoid(gate);
      dgate_up[i] = dout[i] * up[i] * s * (1.0F + gate * (1.0F - s));
      dup[i] = dout[i] * gate * s;
    }
    gate_up += 2 * width;
    dgate_up += 2 * width;
    dout += width;
  }
}

std::int64_t PagedKv::token_offset(std::span<const std::int32_t> pages,
                                   std::int64_t position) const {
  const auto page = pages[static_cast<std::size_t>(position / page_tokens)];
  return (page * page_tokens + position % page_tokens) * kv_heads * head_dim;
}

SWAGE_VECTORISED void attend(const float* q, const PagedKv& kv, std::span<const std::int32_t> pages,
                             std::int64_t length, std::int64_t heads, float* scratch, float* out) {
  const std::int64_t d = kv.head_dim;
  const std::int64_t stride = kv.kv_heads * d;
  const std::int64_t group = heads / kv.kv_heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(d));
  for (std::int64_t head = 0; head < heads; ++head, q += d, out += d) {
    const std::int64_t at = head / group * d;
    float top = -INFINITY;
    for (std::int64_t begin = 0; begin < length; begin += kv.page_tokens) {
      const float* key = kv.keys + kv.token_offset(pages, begin) + at;
      const std::int64_t end = std::min(length, begin + kv.page_tokens);
      for (std::int64_t i = begin; i < end; ++i, key += stride) {
        scratch[i] = dot(q, key, d) * scale;
        top = std::max(top, scratch[i]);
      }
    }
    float total = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      scratch[i] = fast_exp(scratch[i] - top);
      total += scratch[i];
    }
    std::fill(out, out + d, 0.0F);
    for (std::int64_t begin = 0; begin < length; begin += kv.page_tokens) {
      const float* value = kv.values + kv.token_offset(pages, begin) + at;
      const std::int64_t end = std::min(length, begin + kv.page_tokens);
      for (std::int64_t i = begin; i < end; ++i, value += stride)
        for (std::int64_t j = 0; j < d; ++j) out[j] += scratch[i] * value[j];
    }
    for (std::int64_t j = 0; j < d; ++j) out[j] /= total;
  }
}

}  // namespace swage::policy::cpu
