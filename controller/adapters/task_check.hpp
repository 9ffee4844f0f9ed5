#pragma once

#include <string>

#include "common/base/result.hpp"
#include "controller/adapters/local_layout.hpp"
#include "controller/api/resources.hpp"

namespace swage::controller {

/// Runs the files of the run's own sets, as `swage tasks check` does but without its bounds on
/// time: does each import, build a Model and return tensors? Of more than 32 files the first 32,
/// since each takes about a second; the judge withdraws a task that turns out unusable. Blocking.
/// Error: one line a file, with file, line and reason.
Result<void, std::string> check_task_files(const TrainingRun& run, const Installation& installed);

}  // namespace swage::controller
