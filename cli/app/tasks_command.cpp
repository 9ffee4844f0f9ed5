#include "cli/app/tasks_command.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/app/find_system.hpp"
#include "common/base/command.hpp"
#include "common/base/exit_code.hpp"
#include "common/base/files.hpp"
#include "common/base/json_text.hpp"

namespace swage::cli {

int tasks_list_command(bool json) {
  const auto index = share_directory() / "tasks" / "builtin-cpu" / "index.json";
  const auto content = read_file(index);
  const auto tasks = content ? nlohmann::json::parse(*content, nullptr, false) : nlohmann::json();
  if (!tasks.is_array()) {
    std::fprintf(stderr, "swage tasks: no task index at %s: build the target `tasks`\n",
                 index.c_str());
    return 1;
  }
  if (json) {
    std::printf("%s\n", json_text(tasks, 2).c_str());
    return 0;
  }
  std::printf("%-16s %-6s %-10s %-10s %s\n", "TASK", "LEVEL", "EAGER ms", "COMPILE ms",
              "OPERATORS");
  for (const auto& task : tasks) {
    std::string ops;
    for (const auto& op : task.value("ops", nlohmann::json::array()))
      ops += (ops.empty() ? "" : ", ") + op.get<std::string>();
    std::printf("%-16s %-6d %-10.2f %-10.2f %s\n", task.value("id", "").c_str(),
                task.value("level", 0), task.value("eager_ms", 0.0), task.value("compile_ms", 0.0),
                ops.c_str());
  }
  return 0;
}

namespace {

std::vector<std::string> check_program() {
  return {(cache_directory() / "venv" / "bin" / "python").string(),
          (share_directory() / "tasks" / "check").string()};
}

}  // namespace

std::string task_complaint(const std::string& file) {
  auto command = check_program();
  for (const auto& word : {"--min-ms", "0", "--max-ms", "1000000", file.c_str()})
    command.emplace_back(word);
  const auto ran = run_command(std::move(command), CommandOutput::both);
  return ran.exit_code == 0 ? "" : ran.text;
}

int tasks_check_command(const std::vector<std::string>& files, bool json) {
  auto command = check_program();
  if (!std::filesystem::exists(command.front())) {
    std::fprintf(stderr, "swage tasks: %s is missing: run `make setup`\n", command.front().c_str());
    return exit_code::kMissing;
  }
  if (json) command.emplace_back("--json");
  for (const auto& file : files) {
    if (!std::filesystem::is_regular_file(file)) {
      std::fprintf(stderr, "swage tasks: no such file: %s\n", file.c_str());
      return exit_code::kBadInput;
    }
    command.push_back(file);
  }
  const int code = run_command(std::move(command), CommandOutput::shown).exit_code;
  return code == 0 || code == exit_code::kBadInput ? code : exit_code::kFailed;
}

}  // namespace swage::cli
