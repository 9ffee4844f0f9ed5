#include "controller/adapters/task_check.hpp"

#include "controller/adapters/command_output.hpp"

namespace swage::controller {

namespace fs = std::filesystem;

Result<void, std::string> check_task_files(const TrainingRun& run, const Installation& installed) {
  std::vector<std::string> command{installed.python.string(),
                                   (installed.share / "tasks" / "check").string(),
                                   "--min-ms",
                                   "0",
                                   "--max-ms",
                                   "1000000"};
  const auto options = command.size();
  std::error_code failed;
  for (const auto& set : run.tasks)
    if (fs::path(set.set).is_absolute() && fs::is_regular_file(set.set, failed))
      command.push_back(set.set);
  if (command.size() == options) return {};
  const auto ran = command_output(command);
  if (ran.status == 0) return {};
  return tl::unexpected(
      "a task of spec.tasks cannot be used; mend it, then try `swage tasks check` "
      "on it:\n" +
      ran.text);
}

}  // namespace swage::controller
