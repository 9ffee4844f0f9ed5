#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <span>
#include <vector>

#include "policy/model/config.hpp"

namespace swage::policy {

/// Tokens per page of the key-value cache.
inline constexpr std::int64_t kPageTokens = 64;

/// Keys and values of all layers in pages. Who owns which page is the scheduler's business.
class KvCache {
 public:
  KvCache(const ModelConfig& config, std::int64_t pages);
  std::int64_t pages() const { return pages_; }
  const torch::Tensor& keys(std::int64_t layer) const { return keys_[index(layer)]; }
  const torch::Tensor& values(std::int64_t layer) const { return values_[index(layer)]; }

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::int64_t pages_;
  std::vector<torch::Tensor> keys_, values_;  // fp32 [pages, 64, kv_heads, head_dim]
};

/// One sequence of a batch with a cache.
struct KvSequence {
  std::span<const std::int32_t> pages;  ///< in order of position; room for past + new tokens
  std::int64_t past = 0;                ///< tokens whose keys and values are there already
};

/// The cache and, for each sequence of the batch, its pages.
struct KvBatch {
  KvCache& cache;
  std::vector<KvSequence> sequences;
};

}  // namespace swage::policy
