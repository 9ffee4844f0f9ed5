#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace swage {

/// What the dynamic section and the dynamic symbol table of a shared library say.
struct ElfSummary {
  std::vector<std::string> needed;     ///< DT_NEEDED
  std::vector<std::string> exported;   ///< defined, global or weak
  std::vector<std::string> undefined;  ///< strong, without a version: somebody must have it
  std::vector<std::string> imported;   ///< every undefined one, weak and versioned ones too
  bool has_run_path = false;
  bool executable_stack = false;
};

/// Reads a 64-bit x86 ELF shared library; every offset is checked. Error: why it is not one.
Result<ElfSummary, std::string> read_elf(std::string_view file);

}  // namespace swage
