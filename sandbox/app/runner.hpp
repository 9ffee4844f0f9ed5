#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "sandbox/adapters/confinement.hpp"
#include "sandbox/core/work_path.hpp"

namespace swage::sandbox {

/// How sandboxd starts a runner: one JSON argument, made and read here.
struct RunnerSettings {
  int socket = 3;            ///< descriptor of the stream to sandboxd
  std::optional<uid_t> uid;  ///< become this user; absent: stay
  AgentRoots roots;
  std::string sandbox_socket;  ///< path of the socket that utils/ connect to
  std::string tool_path;       ///< PATH of the agent's commands
  AgentLimits limits;
};
std::string to_json_text(const RunnerSettings& settings);
Result<RunnerSettings, std::string> runner_settings_from(const std::string& text);

/// The runner: confines itself to the agent's user, then executes tools for sandboxd until their
/// stream ends. In a container it is process 1: its children cannot signal it, and when it ends the
/// kernel ends them all. One thread. Returns the exit code.
int run_runner(const RunnerSettings& settings);

}  // namespace swage::sandbox
