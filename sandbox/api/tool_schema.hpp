#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace swage::sandbox {

/// The one JSON document that describes every tool: an array of
/// {"name", "description", "parameters": JSON schema}. The prompt, this validator and the
/// documentation are made from it (sandbox/api/tool_schemas.json, compiled in).
std::string_view tool_schemas_json();

/// Names of all tools, in the order of the document.
const std::vector<std::string>& tool_names();

/// Checks a call as the policy wrote it. Returns the canonical arguments text: compact JSON with
/// sorted keys, defaults left out, equal for equal arguments. Error: one sentence for the policy
/// that says what was wrong and what to do instead. Never throws; bounded by the text's size (<= 1
/// MiB).
Result<std::string, std::string> validate_tool_call(std::string_view name,
                                                    std::string_view arguments_json);

/// SHA-256 of tool name and canonical arguments, 64 hex digits: a turn's argument digest.
std::string tool_call_digest(std::string_view name, std::string_view canonical_arguments);

}  // namespace swage::sandbox
