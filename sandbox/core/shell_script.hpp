#pragma once

#include <string>
#include <string_view>

namespace swage::sandbox {

/// The bash program that runs one command of a persistent session. Its arguments: state file to
/// read, command file, state file to write (empty: none). It restores directory, variables and
/// functions, runs the command, and writes them back however the command ends, unless it was killed
/// or replaced the shell. The last line written is kStateComplete.
std::string_view shell_script();

inline constexpr std::string_view kStateComplete = "# complete";

/// What a Bash call answers. output: valid UTF-8, already cut. status: wait status of the shell.
struct ShellAnswer {
  bool ok = false;
  std::string text;
};
ShellAnswer shell_answer(std::string output, int wait_status);
ShellAnswer shell_timeout(std::string output, unsigned timeout_ms);
ShellAnswer shell_cancelled(std::string output);

/// Whether `text` can be read as a Perl regular expression.
bool is_filter(const std::string& text);

/// Lines of `output` in which the filter matches; bytes that are no UTF-8 match nothing.
/// filter: is_filter() holds.
std::string filter_lines(std::string_view output, const std::string& filter);

/// "exit code 3", "ended by signal 9".
std::string describe_end(int wait_status);

}  // namespace swage::sandbox
