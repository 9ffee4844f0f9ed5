#pragma once

#include <memory>

#include "policy/api/generation.hpp"
#include "policy/model/config.hpp"

namespace swage::policy {

struct EngineOptions {
  ModelConfig model;
  KvPolicy kv = KvPolicy::recompute;
  std::int64_t context = 0;       ///< most ids of a session; 0: the model's
  std::int64_t cache_tokens = 0;  ///< room of the key-value cache; at least `context`
  int threads = 1;                ///< of the operators
  std::size_t queue = 1024;       ///< most requests in hand
};

/// The LibTorch engine on the CPU: one thread of its own runs the model and is entered by posting.
/// It refuses requests until weights are loaded. observer outlives it.
std::unique_ptr<InferenceEngine> make_torch_engine(const EngineOptions& options,
                                                   EngineObserver& observer);

}  // namespace swage::policy
