#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "common/base/result.hpp"
#include "common/http/client.hpp"

namespace swage::cli {

/// One request to a controller's HTTP API on an event loop of its own, 30 s at most. Returns the
/// body as JSON. A controller that does not lead (307) says where the leader is, which is then
/// asked, once. Errors: one sentence for people, with the remedy where the token was refused.
Result<nlohmann::json, std::string> ask_json(const HttpTarget& target, const std::string& method,
                                             const std::string& path, const std::string& body = "");

}  // namespace swage::cli
