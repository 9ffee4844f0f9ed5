#pragma once

#include <filesystem>
#include <string>

#include "common/config/process_config.hpp"
#include "policy/api/generation.hpp"

namespace swage::policy {

/// What `swage-policy --config FILE` reads besides the common fields (docs/PROCESSES.md).
struct PolicyConfig {
  ProcessConfig process;
  std::string model_source;             ///< model.source: `scratch:tiny` or a folder
  std::filesystem::path tokenizer;      ///< model.tokenizer: a tokenizer.json
  std::string learner;                  ///< its gRPC address; empty: weights only come by Put
  KvPolicy kv = KvPolicy::recompute;    ///< kv: `keep` or `recompute`
  int threads = 1;                      ///< of the operators, 1 … 1024
  std::int64_t context = 0;             ///< most ids of a session; 0: the model's
  std::int64_t cache_tokens = 262'144;  ///< room of the key-value cache, tokens
  std::uint64_t seed = 0;               ///< the run's; draws are keyed by each request's own seed
};

Result<PolicyConfig, ConfigError> read_config(const std::filesystem::path& file);

}  // namespace swage::policy
