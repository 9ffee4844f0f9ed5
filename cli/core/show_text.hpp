#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace swage::cli {

/// A trajectory to read: turns, calls, observations, verdicts, rewards. json: what
/// GET /api/v1/rollouts/{id} answers (common/view/trajectory_json.hpp).
std::string trajectory_text(const nlohmann::json& trajectory);

/// A table of trajectories, one line each. json: an array, or an object with `items`.
std::string rollout_list_text(const nlohmann::json& rollouts);

}  // namespace swage::cli
