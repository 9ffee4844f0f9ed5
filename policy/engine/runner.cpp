#include "policy/engine/runner.hpp"

#include "common/base/check.hpp"
#include "policy/core/sampler.hpp"

namespace swage::policy {
namespace {

/// Matrix products of fewer rows take another path in the BLAS and round differently; with this
/// many a token's result does not depend on how many others share its step.
constexpr std::int64_t kLeastRows = 8;

struct Packed {
  PackedBatch batch;
  KvBatch kv;
  std::vector<std::int64_t> sampled_rows;
};

/// scrap: a page for the tokens that only fill up a small step.
Packed packed(const StepPlan& plan, KvCache& cache, std::span<const std::int32_t> scrap) {
  Packed out{{}, {cache, {}}, {}};
  auto& starts = out.batch.starts;
  starts.push_back(0);
  for (const auto& item : plan.items) {
    starts.push_back(starts.back() + static_cast<std::int64_t>(item.ids.size()));
    out.kv.sequences.push_back({item.pages, item.past});
    if (item.sample) out.sampled_rows.push_back(starts.back() - 1);
  }
  if (starts.back() < kLeastRows) {
    starts.push_back(kLeastRows);
    out.kv.sequences.push_back({scrap, 0});
  }
  out.batch.ids = torch::zeros({starts.back()}, torch::kInt64);
  auto* id = out.batch.ids.data_ptr<std::int64_t>();
  for (const auto& item : plan.items)
    for (const auto value : item.ids) *id++ = value;
  return out;
}

/// The logits of these hidden states, [n, vocabulary].
torch::Tensor logits_of(const Decoder& model, const torch::Tensor& hidden,
                        std::vector<std::int64_t> rows) {
  while (static_cast<std::int64_t>(rows.size()) < kLeastRows) rows.push_back(rows.back());
  const auto index =
      torch::from_blob(rows.data(), {static_cast<std::int64_t>(rows.size())}, torch::kInt64);
  return model.logits(hidden.index_select(0, index)).contiguous();
}

}  // namespace

std::vector<StepSample> StepRunner::run(const StepPlan& plan) {
  check(model_.has_value(), "a step without weights");
  const torch::InferenceMode inference;
  const auto step = packed(plan, cache_, scrap_);
  const auto hidden = model_->hidden(step.batch, &step.kv);
  std::vector<StepSample> samples;
  if (step.sampled_rows.empty()) return samples;
  const auto logits = logits_of(*model_, hidden, step.sampled_rows);
  const auto vocabulary = static_cast<std::size_t>(logits.size(1));
  const float* row = logits.data_ptr<float>();
  for (const auto& item : plan.items) {
    if (!item.sample) continue;
    const auto draw = sample({row, vocabulary}, item.sampling, item.position);
    samples.push_back(draw ? StepSample{draw->id, draw->behaviour_logprob} : StepSample{});
    row += vocabulary;
  }
  return samples;
}

}  // namespace swage::policy
