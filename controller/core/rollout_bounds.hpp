#pragma once

#include "controller/api/assignment.hpp"
#include "controller/api/resources.hpp"

namespace swage::controller {

/// Bounds of each rollout of one stage of a run.
RolloutBounds bounds_of(const TrainingRun& run, Stage stage);

}  // namespace swage::controller
