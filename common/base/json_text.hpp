#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace swage {

/// A JSON value as text, on one line or indented. What is not UTF-8 in it becomes U+FFFD, where
/// nlohmann's own dump() would throw: much of what we write down was said by others.
template <class Json>
std::string json_text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace swage
