#include "policy/model/decoder.hpp"

namespace swage::policy {

ValueModel ValueModel::from_policy(const Decoder& policy) {
  return {policy.clone(), torch::zeros({1, policy.config().hidden}), torch::zeros({1})};
}

torch::Tensor ValueModel::values(const PackedBatch& batch) const {
  return at::linear(trunk_.hidden(batch), weight_, bias_).squeeze(1);
}

std::vector<Parameter> ValueModel::parameters() const {
  auto out = trunk_.parameters();
  std::erase_if(out, [](const Parameter& p) { return p.name == "output"; });
  out.push_back({"score.weight", weight_, true});
  out.push_back({"score.bias", bias_, false});
  return out;
}

std::vector<NamedTensor> ValueModel::tensors() const {
  auto out = trunk_.tensors();
  std::erase_if(out, [](const NamedTensor& t) { return t.name == "lm_head.weight"; });
  out.push_back({"score.weight", weight_.detach()});
  out.push_back({"score.bias", bias_.detach()});
  return out;
}

void ValueModel::require_gradients(bool on) {
  for (auto& parameter : parameters()) parameter.tensor.set_requires_grad(on);
}

}  // namespace swage::policy
