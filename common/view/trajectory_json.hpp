#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "swage/v1/trajectory.pb.h"

namespace swage {

/// Turns token ids into text. It must take ids that are cut anywhere; bytes that are no UTF-8 are
/// replaced when the JSON is printed.
using DecodeIds = std::function<std::string(std::span<const std::uint32_t>)>;

/// A trajectory for people and programs: identity, outcome, and per turn the policy's text, the
/// observation's text, tool calls and weight versions; verdicts in full. What
/// GET /api/v1/rollouts/{id} answers and `swage show` prints.
nlohmann::json trajectory_json(const v1::Trajectory& trajectory, const DecodeIds& decode);

/// One line of a list of trajectories.
nlohmann::json trajectory_line_json(const v1::TrajectoryLine& line);

/// A verdict's bytes as JSON; absent fields are absent.
nlohmann::json verdict_json(const v1::Verdict& verdict);

/// `VERDICT_CODE_OK` → `ok`: an enumerator's name without its type, in lower case.
std::string short_name(const std::string& enumerator, const std::string& prefix);

}  // namespace swage
