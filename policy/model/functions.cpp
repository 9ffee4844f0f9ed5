#include "policy/model/functions.hpp"

#include <ATen/Parallel.h>

#include "policy/model/cpu_kernels.hpp"

namespace swage::policy {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

constexpr std::int64_t kGrainRows = 64;  // rows that are worth another thread

class RmsNorm final : public torch::autograd::Function<RmsNorm> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        double epsilon) {
    const auto width = x.size(-1);
    const auto rows = x.numel() / width;
    const auto y = torch::empty_like(x);
    const auto inverse = torch::empty({rows}, x.options());
    const float* in = x.data_ptr<float>();
    const float* scale = weight.data_ptr<float>();
    float* out = y.data_ptr<float>();
    float* saved = inverse.data_ptr<float>();
    at::parallel_for(0, rows, kGrainRows, [&](std::int64_t begin, std::int64_t end) {
      cpu::rms_norm(in + begin * width, scale, static_cast<float>(epsilon), end - begin, width,
                    out + begin * width, saved + begin);
    });
    context->save_for_backward({x, weight, inverse});
    return y;
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto& x = saved[0];
    const auto& weight = saved[1];
    const auto dy = grads[0].contiguous();
    const auto width = x.size(-1);
    const auto rows = x.numel() / width;
    const auto dx = torch::empty_like(x);
    // One partial sum per fixed block of rows, so that the result does not depend on threads.
    const auto blocks = std::clamp<std::int64_t>(rows / 256, 1, 64);
    const auto partial = torch::zeros({blocks, width}, x.options());
    const float* dy_at = dy.data_ptr<float>();
    const float* x_at = x.data_ptr<float>();
    const float* w_at = weight.data_ptr<float>();
    const float* inverse = saved[2].data_ptr<float>();
    float* dx_at = dx.data_ptr<float>();
    float* dw_at = partial.data_ptr<float>();
    at::parallel_for(0, blocks, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t block = first; block < last; ++block) {
        const auto begin = rows * block / blocks;
        const auto end = rows * (block + 1) / blocks;
        cpu::rms_norm_backward(dy_at + begin * width, x_at + begin * width, w_at, inverse + begin,
                               end - begin, width, dx_at + begin * width, dw_at + block * width);
      }
    });
    return {dx, partial.sum(0), Tensor()};
  }
};

class SwiGlu final : public torch::autograd::Function<SwiGlu> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& gate_up) {
    const auto rows = gate_up.size(0);
    const auto width = gate_up.size(1) / 2;
    const auto out = torch::empty({rows, width}, gate_up.options());
    const float* in = gate_up.data_ptr<float>();
    float* to = out.data_ptr<float>();
    at::parallel_for(0, rows, kGrainRows, [&](std::int64_t begin, std::int64_t end) {
      cpu::swiglu(in + begin * 2 * width, end - begin, width, to + begin * width);
    });
    context->save_for_backward({gate_up});
    return out;
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& grads) {
    const auto gate_up = context->get_saved_variables()[0];
    const auto dout = grads[0].contiguous();
    const auto width = gate_up.size(1) / 2;
    const auto din = torch::empty_like(gate_up);
    const float* dout_at = dout.data_ptr<float>();
    const float* in = gate_up.data_ptr<float>();
    float* din_at = din.data_ptr<float>();
    at::parallel_for(0, gate_up.size(0), kGrainRows, [&](std::int64_t begin, std::int64_t end) {
      cpu::swiglu_backward(dout_at + begin * width, in + begin * 2 * width, end - begin, width,
                           din_at + begin * 2 * width);
    });
    return {din};
  }
};

/// in: [T, heads, d], rows may be strided. Returns contiguous [T, heads * repeat, d]: rotated when
/// the table is given, each head `repeat` times.
Tensor rotate(const Tensor& in, const AttentionFrame& frame, float sign) {
  const auto tokens = in.size(0);
  const auto heads = in.size(1);
  const auto d = in.size(2);
  const auto dense = in.stride(2) == 1 && in.stride(1) == d ? in : in.contiguous();
  const auto out = torch::empty({tokens, heads, d}, in.options());
  const cpu::RopeTable table{frame.cosine.data_ptr<float>(), frame.sine.data_ptr<float>(), d};
  const auto* positions = frame.positions.data_ptr<std::int32_t>();
  const float* from = dense.data_ptr<float>();
  const auto stride = dense.stride(0);
  float* to = out.data_ptr<float>();
  at::parallel_for(0, tokens, kGrainRows, [&](std::int64_t begin, std::int64_t end) {
    for (auto t = begin; t < end; ++t)
      cpu::rope(from + t * stride, table, positions[t], heads, sign, to + t * heads * d);
  });
  return out;
}

/// [T, heads, d] → [1, heads, length, d] of one sequence, a view.
Tensor one_sequence(const Tensor& packed, std::int64_t begin, std::int64_t end) {
  return packed.slice(0, begin, end).transpose(0, 1).unsqueeze(0);
}

Tensor repeated(const Tensor& x, std::int64_t group) {
  return group == 1 ? x.contiguous() : x.repeat_interleave(group, 1);
}
Tensor summed(const Tensor& x, std::int64_t group) {
  if (group == 1) return x;
  return x.view({x.size(0), x.size(1) / group, group, x.size(2)}).sum(2);
}

class PackedAttention final : public torch::autograd::Function<PackedAttention> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v,
                        const AttentionFrame& frame) {
    const auto heads = q.size(1);
    const auto group = heads / k.size(1);
    const auto queries = rotate(q, frame, 1.0F);
    const auto keys = repeated(rotate(k, frame, 1.0F), group);
    const auto values = repeated(v, group);
    const auto out = torch::empty_like(queries);
    const auto logsumexp = torch::empty({heads, q.size(0)}, q.options());
    for (std::size_t s = 0; s + 1 < frame.starts.size(); ++s) {
      const auto begin = frame.starts[s];
      const auto end = frame.starts[s + 1];
      const auto [o, lse] = at::_scaled_dot_product_flash_attention_for_cpu(
          one_sequence(queries, begin, end), one_sequence(keys, begin, end),
          one_sequence(values, begin, end), 0.0, true);
      one_sequence(out, begin, end).copy_(o);
      logsumexp.slice(1, begin, end).copy_(lse.squeeze(0));
    }
    context->save_for_backward(
        {queries, keys, values, out, logsumexp, frame.cosine, frame.sine, frame.positions});
    context->saved_data["starts"] = frame.starts;
    context->saved_data["group"] = group;
    return out.view({q.size(0), -1});
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& grads) {
    const auto saved = context->get_saved_variables();
    const AttentionFrame frame{saved[5], saved[6], saved[7],
                               context->saved_data["starts"].toIntVector()};
    const auto group = context->saved_data["group"].toInt();
    const auto dout = grads[0].contiguous().view_as(saved[3]);
    const auto dq = torch::empty_like(saved[0]);
    const auto dk = torch::empty_like(saved[1]);
    const auto dv = torch::empty_like(saved[2]);
    for (std::size_t s = 0; s + 1 < frame.starts.size(); ++s) {
      const auto begin = frame.starts[s];
      const auto end = frame.starts[s + 1];
      const auto part = [&](const Tensor& x) { return one_sequence(x, begin, end); };
      const auto [gq, gk, gv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
          part(dout), part(saved[0]), part(saved[1]), part(saved[2]), part(saved[3]),
          saved[4].slice(1, begin, end).unsqueeze(0), 0.0, true);
      part(dq).copy_(gq);
      part(dk).copy_(gk);
      part(dv).copy_(gv);
    }
    return {rotate(dq, frame, -1.0F), rotate(summed(dk, group), frame, -1.0F), summed(dv, group),
            Tensor()};
  }
};

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  return RmsNorm::apply(x.contiguous(), weight, epsilon);
}
Tensor swiglu(const Tensor& gate_up) { return SwiGlu::apply(gate_up.contiguous()); }
Tensor packed_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                        const AttentionFrame& frame) {
  return PackedAttention::apply(q, k, v, frame);
}

}  // namespace swage::policy
