#pragma once

#include "common/asio/asio.hpp"
#include "common/asio/stop_source.hpp"
#include "learner/app/config.hpp"

namespace swage::learner {

/// The whole process on one strand: opens log and checkpoints, serves, walks through the stages,
/// and ends in order at `stop`. Returns the exit code (docs/PROCESSES.md).
Task<int> run_learner(LearnerConfig config, asio::any_io_executor strand, StopSource& stop);

}  // namespace swage::learner
