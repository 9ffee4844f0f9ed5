#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/app/find_system.hpp"
#include "common/base/result.hpp"

namespace swage::cli {

/// One trajectory in full. A live run is asked, an ended local one is read from its log. Errors:
/// there is none, with where was looked.
Result<nlohmann::json, std::string> fetch_trajectory(const Where& where,
                                                     const std::string& rollout);

/// Every trajectory, all pages, as an object {items, next_cursor: null} and, of a live run, `live`.
/// A server that has several runs gives those of all. Empty before the first one.
Result<nlohmann::json, std::string> list_trajectories(const Where& where);

}  // namespace swage::cli
