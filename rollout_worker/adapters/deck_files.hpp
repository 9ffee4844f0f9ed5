#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "rollout_worker/core/teacher_script.hpp"

namespace swage::rollout_worker {

/// Reads `<task folder>/teacher/deck.json` and the files that it names:
///   {"name": "softmax", "model_new": "model_new.py", "binding": "softmax_binding.cpp",
///    "cards": [{"variant": "slow", "kernel": "slow.cpp"}, …]}
/// Errors: a sentence that names file and field.
Result<TeacherDeck, std::string> read_deck(const std::filesystem::path& task_folder);

/// The ids of `<tasks>/index.json` whose `quickstart` is true, in the file's order. Errors: a
/// sentence that names the file.
Result<std::vector<std::string>, std::string> quickstart_tasks(const std::filesystem::path& tasks);

}  // namespace swage::rollout_worker
