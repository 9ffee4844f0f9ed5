#pragma once

#include "policy/model/decoder.hpp"

namespace swage::test {

/// Fresh weights with norms and biases that are not neutral, so that leaving them out shows.
inline policy::Decoder random_model(const policy::ModelConfig& config, std::uint64_t seed) {
  auto model = policy::Decoder::scratch(config, seed);
  auto generator = at::detail::createCPUGenerator(seed + 1);
  const torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : model.tensors())
    if (tensor.dim() == 1) tensor.add_(torch::randn(tensor.sizes(), generator) * 0.2);
  return model;
}

}  // namespace swage::test
