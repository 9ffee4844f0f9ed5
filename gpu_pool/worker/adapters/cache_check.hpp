#pragma once

#include <filesystem>
#include <string>

#include "common/base/result.hpp"

namespace swage::worker {

/// Makes the folder in which the model hosts keep what they compile, and tries whether this user
/// may write into it and into every folder that an earlier process, perhaps of another user, has
/// made there. Without this a host would fail in the middle of an evaluation, and its task would be
/// blamed. Blocks for milliseconds. Errors: a sentence for people that names the folder, the
/// system's reason and the remedy.
Result<void, std::string> check_cache(const std::filesystem::path& cache);

}  // namespace swage::worker
