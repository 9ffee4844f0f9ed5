#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "common/config/process_config.hpp"
#include "learner/api/settings.hpp"

namespace swage::learner {

/// swage-learner's configuration: the common fields (docs/PROCESSES.md) and its own.
struct LearnerConfig {
  ProcessConfig process;
  std::filesystem::path out;        ///< `out`: learner/, checkpoints/ and steps.csv lie here
  std::string model_source;         ///< `model.source`: `scratch:tiny` or a folder
  std::filesystem::path tokenizer;  ///< `model.tokenizer`: tokenizer.json
  std::string renderer;             ///< `model.renderer`: that trajectories must name; default tiny
  std::string controller;           ///< `controller`: gRPC address of its leader
  std::filesystem::path
      verdict_key_file;     ///< `verdict_key_file`: the pool's, without line feeds at its end
  std::string verdict_key;  ///< its content
  std::string pool;         ///< `pool`: `<namespace>.<pool>` whose verdicts count
  bool allow_reduced_trust = false;  ///< `allow_reduced_trust`
  std::uint64_t seed = 1;            ///< `seed`
  int threads = 1;                   ///< `threads` of torch
  Settings settings;  ///< `preset`, `stages`, `learning`, `reward`, `evaluation_rollouts`
};

/// Errors: each complaint names file and field.
Result<LearnerConfig, ConfigError> read_learner_config(const std::filesystem::path& file);

}  // namespace swage::learner
