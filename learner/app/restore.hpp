#pragma once

#include <optional>
#include <string>

#include "common/asio/asio.hpp"
#include "learner/adapters/checkpoint_store.hpp"
#include "learner/adapters/steps_csv.hpp"
#include "learner/app/config.hpp"
#include "learner/core/run_state.hpp"

namespace swage::learner {

/// Where a run continues, or begins.
struct Restored {
  CheckpointStore checkpoints;
  StepsCsv csv;
  RunState state;
  std::optional<std::string> damaged;  ///< why newer checkpoints were passed over
};

/// Loads the newest checkpoint that verifies into the trainer (which must be idle: this blocks and
/// calls it on its thread). Without any, the state of a run that has not begun. Errors: wrong_model
/// for a checkpoint of another run or model, naming it; damaged if there are checkpoints and none
/// verifies; io, disk_full.
Result<Restored, TrainerError> restore(const LearnerConfig& config, const RunIdentity& identity,
                                       asio::thread_pool& trainer_thread, Trainer& trainer);

}  // namespace swage::learner
