#pragma once

#include <optional>
#include <string>

#include "common/base/elf.hpp"

namespace swage::judge {

/// The policy's layer `symbols` on the cpu device: what a candidate's library may need from others
/// (design judge.md, section 5). Allowed are a part of libc, libm and libstdc++, OpenMP, what
/// pybind11 uses of CPython, reading a tensor and making an empty one. Returns the first name that
/// is not allowed, with the reason; nothing when all are.
std::optional<std::string> refused_symbol(const ElfSummary& library);

}  // namespace swage::judge
