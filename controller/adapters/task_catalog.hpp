#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/config/fields.hpp"
#include "controller/api/assignment.hpp"
#include "controller/api/resources.hpp"
#include "controller/core/curriculum.hpp"

namespace swage::controller {

/// Every task of a run, and which set deals which.
struct TaskCatalog {
  std::vector<TaskRecord> tasks;
  std::vector<TaskShare> shares;  ///< in the order of the run's sets
};

/// The files of a set that is a path, in order: itself, or every .py file below a folder.
std::vector<std::filesystem::path> task_files(const std::filesystem::path& set);

/// Loads the run's task sets. `builtin-…` lies under `installed` (share/swage/tasks); the preset
/// OneMachine deals only the tasks that its index marks `quickstart`. A path is a KernelBench file
/// or a folder of them. Errors: each complaint names the file and the remedy.
Result<TaskCatalog, ConfigError> load_tasks(const TrainingRun& run,
                                            const std::filesystem::path& installed);

}  // namespace swage::controller
