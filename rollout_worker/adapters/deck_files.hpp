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

/// The task folders below `tasks` that have a deck, by name.
std::vector<std::filesystem::path> folders_with_decks(const std::filesystem::path& tasks);

}  // namespace swage::rollout_worker
