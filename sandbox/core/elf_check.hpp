#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace swage::sandbox {

/// What the dynamic section and the dynamic symbol table of a shared library say.
struct ElfSummary {
  std::vector<std::string> needed;     ///< DT_NEEDED
  std::vector<std::string> exported;   ///< defined, global or weak
  std::vector<std::string> undefined;  ///< strong, without a version: somebody must have it
  bool has_run_path = false;
  bool executable_stack = false;
};

/// Reads a 64-bit x86 ELF shared library; every offset is checked. Error: why it is not one.
Result<ElfSummary, std::string> read_elf(std::string_view file);

/// A library of ours is sane: it exports PyInit_cuda_extension, names no run path, asks for no
/// executable stack, and every symbol it lacks is in `known` (sorted) or belongs to Python.
/// Error: a sentence for the agent.
Result<void, std::string> check_extension(const ElfSummary& summary,
                                          const std::vector<std::string>& known);

}  // namespace swage::sandbox
