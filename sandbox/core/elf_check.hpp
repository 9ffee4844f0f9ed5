#pragma once

#include <string>
#include <vector>

#include "common/base/elf.hpp"
#include "common/base/result.hpp"

namespace swage::sandbox {

/// A library of ours is sane: it exports PyInit_cuda_extension, names no run path, asks for no
/// executable stack, and every symbol it lacks is in `known` (sorted) or belongs to Python.
/// Error: a sentence for the agent.
Result<void, std::string> check_extension(const ElfSummary& summary,
                                          const std::vector<std::string>& known);

}  // namespace swage::sandbox
