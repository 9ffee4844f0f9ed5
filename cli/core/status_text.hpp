#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace swage::cli {

/// Seconds from `rfc3339` (UTC, `2025-01-31T12:00:00Z`) to `now`, Unix seconds; 0 if it is none or
/// lies in the future.
double seconds_since(const std::string& rfc3339, std::int64_t now);

/// How long the run of GET /api/v1/runs/{run} has run, in seconds: to its end if it has one.
double run_seconds(const nlohmann::json& run, std::int64_t now);

/// One run to read: where it stands, rewards, rollouts, processes, and what is wrong with it.
std::string run_text(const nlohmann::json& run, double seconds);

}  // namespace swage::cli
