#pragma once

#include <torch/torch.h>

#include <vector>

#include "policy/model/decoder.hpp"

namespace swage::learner {

/// AdamW (Loshchilov & Hutter, arXiv 1711.05101) with beta 0.9 and 0.999, epsilon 1e-8, on leaves
/// that share storage with a model. Weight decay only where a parameter says so. One thread.
class AdamW {
 public:
  AdamW(std::vector<policy::Parameter> parameters, double weight_decay);

  /// Norm of all gradients together, as if they were one vector.
  double grad_norm() const;
  /// One step: gradients scaled so that their norm is at most max_norm (norm: what grad_norm()
  /// said), then cleared.
  void step(double learning_rate, double norm, double max_norm);
  void zero_grad();

  /// Step count and moments, to be saved; and back. False: another number or other shapes.
  std::vector<torch::Tensor> state() const;
  bool set_state(const std::vector<torch::Tensor>& state);

 private:
  std::vector<policy::Parameter> parameters_;
  double weight_decay_;
  std::int64_t steps_ = 0;
  std::vector<torch::Tensor> first_, second_;
};

}  // namespace swage::learner
