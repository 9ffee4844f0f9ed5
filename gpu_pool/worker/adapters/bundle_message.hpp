#pragma once

#include <string>
#include <vector>

#include "sandbox/api/bundle.hpp"
#include "sandbox/api/compile_types.hpp"

namespace swage::worker {

/// A serialised swage.v1.Bundle of these files and what came of compiling them.
std::string encode_bundle(const std::string& id, const std::vector<sandbox::WorkFile>& files,
                          const sandbox::CompileOutcome& compiled);

}  // namespace swage::worker
