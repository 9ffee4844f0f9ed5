#pragma once

#include "learner/api/trajectory.hpp"

namespace swage::learner {

/// Whether one window of 64 policy tokens occurs at least five times, not overlapping itself.
bool has_repeated_window(const Trajectory& trajectory);

}  // namespace swage::learner
