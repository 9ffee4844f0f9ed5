#pragma once

#include <string>
#include <vector>

namespace swage {

/// What becomes of a command's stdout and stderr.
enum class CommandOutput {
  shown,   ///< both are the caller's own
  answer,  ///< stdout is collected, stderr is the caller's own
  both,    ///< both are collected, as they come
  none,    ///< both are dropped
};

struct CommandResult {
  int exit_code = -1;  ///< -1: it was not started, or a signal ended it
  std::string text;    ///< what was collected, without trailing line ends
};

/// Runs a trusted program and waits for it, blocking: for the few questions that are asked before
/// an event loop runs. It inherits stdin, stdout and stderr only. No shell sees the words. command:
/// the program (looked up in PATH unless it has a slash) and its arguments, at least one word.
CommandResult run_command(std::vector<std::string> command, CommandOutput output);

}  // namespace swage
