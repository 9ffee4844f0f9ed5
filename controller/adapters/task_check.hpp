#pragma once

#include <string>

#include "common/base/result.hpp"
#include "controller/adapters/local_layout.hpp"
#include "controller/api/resources.hpp"

namespace swage::controller {

/// Runs each set of the run that is one file, as `swage tasks check` does but without its bounds on
/// time: does it import, build a Model and return tensors? Folders are not run here: seconds a
/// file. Blocking, about three seconds a file. Error: one line a file, with file, line and reason.
Result<void, std::string> check_task_files(const TrainingRun& run, const Installation& installed);

}  // namespace swage::controller
