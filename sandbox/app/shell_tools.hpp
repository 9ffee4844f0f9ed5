#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "sandbox/adapters/shell_jobs.hpp"
#include "sandbox/app/file_tools.hpp"
#include "sandbox/core/runner_messages.hpp"

namespace swage::sandbox {

/// Why a running command is to end before its time; set by whoever ends it.
struct CallControl {
  StopSource stop;
  EndTool::Why why = EndTool::Why::cancelled;
};

/// Where the shell works and what it sees.
struct ShellSettings {
  AgentRoots roots;
  std::filesystem::path state_directory;  ///< for command and state files; the agent's to write
  std::map<std::string, std::string> environment;
};

/// Bash, BashOutput, KillBash and Grep. One session: directory, variables and functions last from
/// one foreground command to the next; background commands start from them and change nothing.
/// Thread: one strand.
class ShellTools {
 public:
  ShellTools(ShellJobs& jobs, ShellSettings settings);

  /// Returns when the command has ended or `control` ends it.
  Task<ToolAnswer> bash(nlohmann::json arguments, std::shared_ptr<CallControl> control);
  Task<ToolAnswer> grep(nlohmann::json arguments, std::shared_ptr<CallControl> control);
  ToolAnswer bash_output(const nlohmann::json& arguments);
  ToolAnswer kill_bash(const nlohmann::json& arguments);

 private:
  using Started = Result<std::shared_ptr<ShellJob>, std::string>;
  Started start_shell(const std::string& command, bool background);
  ToolAnswer start_background(const std::string& command);
  void keep_state();
  std::string unknown_id(const std::string& id) const;

  ShellJobs& jobs_;
  ShellSettings settings_;
  std::map<std::string, std::shared_ptr<ShellJob>> background_;
  std::size_t commands_ = 0;
};

}  // namespace swage::sandbox
