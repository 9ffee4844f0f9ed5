#pragma once

#include <torch/torch.h>

#include "learner/api/trainer.hpp"

namespace swage::learner {

/// log softmax(z/tau) of `targets` where z = rows · matrixᵀ, in chunks of 2,048 rows: the whole
/// [n, V] never exists. rows: [n, h]; matrix: [V, h]; targets: i64 [n]. Gradients flow to rows and
/// matrix; the backward pass computes each chunk again. entropy, if not null, receives H of each
/// row, without gradient.
torch::Tensor token_logprobs(const torch::Tensor& rows, const torch::Tensor& matrix,
                             const torch::Tensor& targets, double temperature,
                             torch::Tensor* entropy);

/// The clipped policy loss of each token and what to report of it; design learning.md, section 4.
/// All arguments [n]; `old` NaN: logp without gradient.
struct PolicyLoss {
  torch::Tensor loss;                                ///< [n], with gradient
  torch::Tensor ratio;                               ///< [n]
  torch::Tensor k3;                                  ///< [n], 0 where there is no old log-prob
  torch::Tensor clipped_low, clipped_high, missing;  ///< [n], bool
};
PolicyLoss policy_loss(const torch::Tensor& logp, const torch::Tensor& old,
                       const torch::Tensor& advantages, const ClipSettings& clip);

/// Half squared error, or its clipped form around `old` (not defined: not clipped). [n].
torch::Tensor value_loss(const torch::Tensor& values, const torch::Tensor& returns,
                         const torch::Tensor& old, double clip);

}  // namespace swage::learner
