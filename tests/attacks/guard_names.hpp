#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "gpu_pool/judge/core/guards.hpp"

namespace swage::attacks {

/// Every guard that can be switched off, by the name that attacks.md and fixtures use.
const std::vector<std::string>& guard_names();

/// All guards but those of a comma-separated list. Error: the name that is none.
Result<judge::Guards, std::string> guards_without(std::string_view list);

}  // namespace swage::attacks
