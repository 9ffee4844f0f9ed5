#include "learner/torch/adam_w.hpp"

#include <algorithm>
#include <cmath>

namespace swage::learner {
namespace {

constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

}  // namespace

AdamW::AdamW(std::vector<policy::Parameter> parameters, double weight_decay)
    : parameters_(std::move(parameters)), weight_decay_(weight_decay) {
  for (const auto& parameter : parameters_) {
    first_.push_back(torch::zeros_like(parameter.tensor, torch::requires_grad(false)));
    second_.push_back(torch::zeros_like(parameter.tensor, torch::requires_grad(false)));
  }
}

double AdamW::grad_norm() const {
  const torch::NoGradGuard no_grad;
  auto total = torch::zeros({}, torch::kDouble);
  for (const auto& parameter : parameters_)
    if (parameter.tensor.grad().defined())
      total += parameter.tensor.grad().to(torch::kDouble).square().sum();
  return std::sqrt(total.item<double>());
}

void AdamW::step(double learning_rate, double norm, double max_norm) {
  const torch::NoGradGuard no_grad;
  ++steps_;
  const double scale = norm > max_norm ? max_norm / (norm + 1e-6) : 1.0;
  const double correction1 = 1.0 - std::pow(kBeta1, static_cast<double>(steps_));
  const double correction2 = std::sqrt(1.0 - std::pow(kBeta2, static_cast<double>(steps_)));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto& parameter = parameters_[i];
    if (!parameter.tensor.grad().defined()) continue;
    const auto gradient = parameter.tensor.grad() * scale;
    if (parameter.decays) parameter.tensor.mul_(1.0 - learning_rate * weight_decay_);
    first_[i].mul_(kBeta1).add_(gradient, 1.0 - kBeta1);
    second_[i].mul_(kBeta2).addcmul_(gradient, gradient, 1.0 - kBeta2);
    const auto denominator = (second_[i].sqrt() / correction2).add_(kEpsilon);
    parameter.tensor.addcdiv_(first_[i], denominator, -learning_rate / correction1);
  }
  zero_grad();
}

void AdamW::zero_grad() {
  for (auto& parameter : parameters_) parameter.tensor.mutable_grad().reset();
}

std::vector<torch::Tensor> AdamW::state() const {
  std::vector<torch::Tensor> out{torch::tensor(steps_)};
  out.insert(out.end(), first_.begin(), first_.end());
  out.insert(out.end(), second_.begin(), second_.end());
  return out;
}

bool AdamW::set_state(const std::vector<torch::Tensor>& state) {
  const std::size_t count = parameters_.size();
  if (state.size() != 1 + 2 * count || state[0].numel() != 1) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (!state[1 + i].sizes().equals(first_[i].sizes()) ||
        !state[1 + count + i].sizes().equals(second_[i].sizes()))
      return false;
  const torch::NoGradGuard no_grad;
  steps_ = state[0].item<std::int64_t>();
  for (std::size_t i = 0; i < count; ++i) {
    first_[i].copy_(state[1 + i]);
    second_[i].copy_(state[1 + count + i]);
  }
  return true;
}

}  // namespace swage::learner
