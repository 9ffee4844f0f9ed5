#include "controller/adapters/task_check.hpp"

#include "common/base/command.hpp"
#include "controller/adapters/task_catalog.hpp"

namespace swage::controller {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 32;

Result<void, std::string> check_task_files(const TrainingRun& run, const Installation& installed) {
  std::vector<std::string> command{installed.python.string(),
                                   (installed.share / "tasks" / "check").string(),
                                   "--min-ms",
                                   "0",
                                   "--max-ms",
                                   "1000000"};
  const auto options = command.size();
  for (const auto& set : run.tasks) {
    if (!fs::path(set.set).is_absolute()) continue;
    for (const auto& file : task_files(set.set))
      if (command.size() < options + kMostFiles) command.push_back(file.string());
  }
  if (command.size() == options) return {};
  const auto ran = run_command(command, CommandOutput::both);
  if (ran.exit_code == 0) return {};
  return tl::unexpected(
      "a task of spec.tasks cannot be used; mend it, then try `swage tasks check` "
      "on it:\n" +
      ran.text);
}

}  // namespace swage::controller
