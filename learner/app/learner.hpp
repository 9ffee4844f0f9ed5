#pragma once

#include <functional>
#include <memory>

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "learner/api/trainer.hpp"
#include "learner/app/config.hpp"

namespace swage::learner {

/// Makes the trainer of a run; called once, on the thread that will use it. vocabulary: of the
/// tokenizer. (Torch and protobuf never meet in one file, so main hands this in.)
using TrainerFactory = std::function<Result<std::unique_ptr<Trainer>, TrainerError>(
    const LearnerConfig& config, std::uint32_t vocabulary)>;

/// The whole process on one strand: opens log and checkpoints, serves, walks through the stages,
/// and ends in order at `stop`. Returns the exit code (docs/PROCESSES.md).
Task<int> run_learner(LearnerConfig config, TrainerFactory factory, asio::any_io_executor strand,
                      StopSource& stop);

}  // namespace swage::learner
