#pragma once

#include <torch/torch.h>

#include <optional>
#include <vector>

#include "policy/core/scheduler.hpp"
#include "policy/model/decoder.hpp"

namespace swage::policy {

/// Runs the steps that a scheduler plans: packs the items, runs the model over the paged cache, and
/// samples. Used on one thread.
class StepRunner {
 public:
  StepRunner(const ModelConfig& config, std::int64_t pages)
      : cache_(config, pages + 1), scrap_{static_cast<std::int32_t>(pages)} {}
  void use(Decoder model) { model_ = std::move(model); }
  /// One sample per item that wants one, in order. Weights must be there.
  std::vector<StepSample> run(const StepPlan& plan);

 private:
  KvCache cache_;
  std::vector<std::int32_t> scrap_;  // one page that belongs to no session
  std::optional<Decoder> model_;
};

}  // namespace swage::policy
