#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace swage::cli {

/// One sentence about an answer that is an error. status: 400 and above; body: an RFC 9457 object,
/// or anything else; had_token: whether the request showed a token. A refused token gets the
/// remedy.
std::string problem_text(int status, const nlohmann::json& body, bool had_token);

}  // namespace swage::cli
