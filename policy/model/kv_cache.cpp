#include "policy/model/kv_cache.hpp"

namespace swage::policy {

KvCache::KvCache(const ModelConfig& config, std::int64_t pages) : pages_(pages) {
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const std::vector<std::int64_t> shape{pages, kPageTokens, config.kv_heads, config.head_dim};
    keys_.push_back(torch::empty(shape, torch::kFloat32));  // touched page by page, on use
    values_.push_back(torch::empty(shape, torch::kFloat32));
  }
}

}  // namespace swage::policy
