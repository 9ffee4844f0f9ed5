#pragma once

#include <string>
#include <vector>

namespace swage::controller {

struct CommandOutput {
  int status = -1;   ///< wait status; -1: not started
  std::string text;  ///< stdout and stderr, without trailing line ends
};

/// Runs a program and waits for it; for the few questions that are asked before the event loop
/// runs. command: absolute program and its arguments, none of them seen by a shell unquoted.
CommandOutput command_output(const std::vector<std::string>& command);

}  // namespace swage::controller
