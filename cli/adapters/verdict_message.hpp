#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace swage::cli {

/// A serialised swage.v1.Verdict as JSON; null when the bytes are none.
nlohmann::json verdict_from_bytes(const std::string& bytes);

}  // namespace swage::cli
