#pragma once

#include "controller/app/config.hpp"

namespace swage::controller {

/// Runs one TrainingRun on this machine until it is done or a signal. Looks at everything that was
/// given before it makes a file. Returns the process's exit code.
int run_locally(const ControllerConfig& config);

}  // namespace swage::controller
