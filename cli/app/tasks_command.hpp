#pragma once

#include <string>
#include <vector>

namespace swage::cli {

/// `swage tasks list`: the built-in tasks.
int tasks_list_command(bool json);

/// `swage tasks check FILE…`: whether each file is an admissible task, and why not. Exit code 1
/// when one is not, 64 when there is no such file, 69 without the Python environment.
int tasks_check_command(const std::vector<std::string>& files, bool json);

/// What `swage tasks check` says against one file (path, line and remedy), whatever its eager time
/// is; empty if nothing. Blocks for seconds: a Python that loads torch.
std::string task_complaint(const std::string& file);

}  // namespace swage::cli
