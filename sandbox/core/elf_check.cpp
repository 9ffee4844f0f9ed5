#include "sandbox/core/elf_check.hpp"

#include <algorithm>

namespace swage::sandbox {

Result<void, std::string> check_extension(const ElfSummary& summary,
                                          const std::vector<std::string>& known) {
  const auto refuse = [](std::string why) { return tl::unexpected(std::move(why)); };
  if (std::ranges::find(summary.exported, "PyInit_cuda_extension") == summary.exported.end())
    return refuse("the library has no module cuda_extension; leave binding.cpp as it is");
  if (summary.has_run_path) return refuse("the library names a run path; remove linker directives");
  if (summary.executable_stack)
    return refuse("the library asks for an executable stack; remove nested functions and assembly");
  for (const auto& name : summary.undefined) {
    if (name.starts_with("Py") || name.starts_with("_Py") || name.starts_with("__gmon")) continue;
    if (!std::ranges::binary_search(known, name))
      return refuse("undefined symbol `" + name +
                    "`: it is declared and used, but no .cpp in kernels/ defines it");
  }
  return {};
}

}  // namespace swage::sandbox
