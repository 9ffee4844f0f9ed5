#pragma once

#include <string>
#include <vector>

#include "gpu_pool/judge/core/guards.hpp"

namespace swage::judge {

/// What a judge's process does: takes the one assignment on descriptor 3, judges, delivers.
/// `missing_layers` are added to what the verdict says of its trust. Returns the exit code.
int serve(const Guards& guards, const std::vector<std::string>& missing_layers);

}  // namespace swage::judge
