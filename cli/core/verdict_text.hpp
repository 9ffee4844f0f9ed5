#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace swage::cli {

/// A verdict as a short table: outcome, arms with medians, ratios with intervals, tier, reward,
/// findings. verdict: as common/view/trajectory_json.hpp prints one.
std::string verdict_text(const nlohmann::json& verdict);

}  // namespace swage::cli
