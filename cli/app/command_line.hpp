#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/app/judge_command.hpp"
#include "cli/app/query_commands.hpp"
#include "cli/app/run_command.hpp"

namespace swage::cli {

/// What the command line says, and what the command that it names returned.
struct Parsed {
  RunOptions run;
  QueryOptions query;
  std::string name;  ///< of a run or a rollout
  JudgeOptions judge;
  bool json = false;
  std::vector<std::string> files;
  int code = 0;
};

/// Adds every command of `swage`. Parsing runs the one that is named and sets `parsed.code`. Both
/// outlive the parsing.
void add_commands(CLI::App& app, Parsed& parsed);

}  // namespace swage::cli
