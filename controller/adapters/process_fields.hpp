#pragma once

#include <nlohmann/json.hpp>

#include "controller/api/resources.hpp"

namespace swage::controller {

/// Parts of processes' configurations (docs/PROCESSES.md) that are the same wherever they run.
nlohmann::json stage_fields(const learner::Stages& stages);
nlohmann::json learning_fields(const learner::Learning& learning);
/// Name of the one chat format that there is so far (policy/tokenizer/renderer.hpp).
inline constexpr const char* kRenderer = "tiny";

}  // namespace swage::controller
