#include "learner/torch/losses.hpp"

#include <algorithm>

namespace swage::learner {
namespace {

constexpr std::int64_t kChunk = 2'048;
constexpr double kMaxLogRatio = 20.0;

/// Forward keeps only the log of the normaliser; backward computes the logits of a chunk again.
struct TokenLogprobs : torch::autograd::Function<TokenLogprobs> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const torch::Tensor& rows,
                                                const torch::Tensor& matrix,
                                                const torch::Tensor& targets, double temperature) {
    const auto n = rows.size(0);
    auto logp = torch::empty({n}, rows.options());
    auto normaliser = torch::empty({n}, rows.options());
    auto entropy = torch::empty({n}, rows.options());
    for (std::int64_t at = 0; at < n; at += kChunk) {
      const auto count = std::min(kChunk, n - at);
      const auto z = torch::matmul(rows.narrow(0, at, count), matrix.t()) / temperature;
      const auto lse = torch::logsumexp(z, 1);
      const auto picked = z.gather(1, targets.narrow(0, at, count).unsqueeze(1)).squeeze(1);
      normaliser.narrow(0, at, count).copy_(lse);
      logp.narrow(0, at, count).copy_(picked - lse);
      entropy.narrow(0, at, count).copy_(lse - (torch::softmax(z, 1) * z).sum(1));
    }
    context->save_for_backward({rows, matrix, targets, normaliser});
    context->saved_data["temperature"] = temperature;
    context->mark_non_differentiable({entropy});
    return {logp, entropy};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto& rows = saved[0];
    const auto& matrix = saved[1];
    const double temperature = context->saved_data["temperature"].toDouble();
    const auto n = rows.size(0);
    auto to_rows = torch::empty_like(rows);
    auto to_matrix = torch::zeros_like(matrix);
    for (std::int64_t at = 0; at < n; at += kChunk) {
      const auto count = std::min(kChunk, n - at);
      const auto part = rows.narrow(0, at, count);
      const auto scale = (gradients[0].narrow(0, at, count) / temperature).unsqueeze(1);
      auto to_logits = torch::matmul(part, matrix.t()) / temperature;
      to_logits.sub_(saved[3].narrow(0, at, count).unsqueeze(1)).exp_().neg_().mul_(scale);
      to_logits.scatter_add_(1, saved[2].narrow(0, at, count).unsqueeze(1), scale);
      to_rows.narrow(0, at, count).copy_(torch::matmul(to_logits, matrix));
      to_matrix.add_(torch::matmul(to_logits.t(), part));
    }
    return {to_rows, to_matrix, torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor token_logprobs(const torch::Tensor& rows, const torch::Tensor& matrix,
                             const torch::Tensor& targets, double temperature,
                             torch::Tensor* entropy) {
  auto out = TokenLogprobs::apply(rows, matrix, targets, temperature);
  if (entropy != nullptr) *entropy = out[1].detach();
  return out[0];
}

PolicyLoss policy_loss(const torch::Tensor& logp, const torch::Tensor& old,
                       const torch::Tensor& advantages, const ClipSettings& clip) {
  PolicyLoss out;
  out.missing = torch::isnan(old);
  // Selected before exp, so that a missing log-prob reaches neither value nor gradient.
  const auto known = torch::where(out.missing, logp.detach(), old);
  const auto d = torch::clamp(logp - known, -kMaxLogRatio, kMaxLogRatio);
  const auto rho = torch::exp(d);
  const auto plain = -advantages * rho;
  const auto bounded = -advantages * torch::clamp(rho, 1.0 - clip.low, 1.0 + clip.high);
  auto loss = torch::maximum(plain, bounded);
  if (clip.dual > 0)
    loss = torch::where(advantages < 0, torch::minimum(loss, -advantages * clip.dual), loss);
  out.loss = loss;
  const torch::NoGradGuard no_grad;
  out.ratio = rho.detach();
  out.k3 = torch::where(out.missing, torch::zeros_like(d), out.ratio - 1.0 - d.detach());
  out.clipped_low = (advantages < 0) & (out.ratio < 1.0 - clip.low);
  out.clipped_high = (advantages > 0) & (out.ratio > 1.0 + clip.high);
  return out;
}

torch::Tensor value_loss(const torch::Tensor& values, const torch::Tensor& returns,
                         const torch::Tensor& old, double clip) {
  const auto plain = torch::square(values - returns);
  if (!old.defined() || clip <= 0) return 0.5 * plain;
  const auto near = torch::clamp(values, old - clip, old + clip);
  return 0.5 * torch::maximum(plain, torch::square(near - returns));
}

}  // namespace swage::learner
