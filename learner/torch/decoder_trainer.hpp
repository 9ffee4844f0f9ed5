#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "learner/api/settings.hpp"
#include "learner/api/trainer.hpp"

namespace swage::learner {

struct TrainerOptions {
  std::string model_source;      ///< `scratch:tiny` or a folder
  std::uint32_t vocabulary = 0;  ///< of the tokenizer
  std::uint64_t seed = 1;
  int threads = 1;  ///< of torch, set once for the process
  bool deterministic = false;
  double temperature = 1.0;  ///< tau of log-probabilities
  ClipSettings clip;
  double weight_decay = 0.01;
  double max_grad_norm = 1.0;
  std::uint64_t micro_batch_tokens = 4'096;
};

/// Options out of a run's settings.
TrainerOptions trainer_options(const Settings& settings);

/// Policy and critic in LibTorch, on the CPU in float32. The thread that makes it must be the one
/// that calls it. Errors: the model cannot be made or read.
Result<std::unique_ptr<Trainer>, TrainerError> make_decoder_trainer(const TrainerOptions& options);

}  // namespace swage::learner
