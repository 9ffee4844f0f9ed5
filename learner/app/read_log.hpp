#pragma once

#include <filesystem>
#include <string>

namespace swage::learner {

/// Prints trajectories of a log as JSON on standard output: all of them, a line each, or one in
/// full. Only reads: a learner may be writing the log meanwhile. out: the run's directory; rollout:
/// empty for the list; tokenizer: to turn ids into text. Returns the process's exit code: 69 when
/// something is missing.
int print_log(const std::filesystem::path& out, const std::string& rollout,
              const std::filesystem::path& tokenizer);

}  // namespace swage::learner
