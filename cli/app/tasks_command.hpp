#pragma once

#include <string>
#include <vector>

namespace swage::cli {

/// `swage tasks list`: the built-in tasks.
int tasks_list_command(bool json);

/// `swage tasks check FILE…`: whether each file is an admissible task, and why not. Exit code 1
/// when one is not, 64 when there is no such file, 69 without the Python environment.
int tasks_check_command(const std::vector<std::string>& files, bool json);

}  // namespace swage::cli
