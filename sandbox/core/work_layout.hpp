#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/api/bundle.hpp"

namespace swage::sandbox {

/// Names at the top of a work directory that only swage writes: they lie on read-only mounts, and
/// every bundle gets the pristine ones.
const std::vector<std::string>& protected_names();

/// Whether a path is one of them or below one.
bool is_protected(std::string_view path);

/// Names of the template's files that are compiled into every solution.
const std::vector<std::string>& template_sources();

/// Whether a file of the agent goes into a bundle: Python, C++ or CUDA text in `.` or `kernels/`,
/// no protected name, no hidden one. What does not is left where it is and judged by nobody.
bool is_handed_in(std::string_view path);

/// The template's text for one device kind. Lines between `<!-- if cuda -->` and `<!-- end -->` are
/// kept for cuda only, likewise cpu; the marker lines go.
std::string for_device_kind(std::string_view text, std::string_view device_kind);

}  // namespace swage::sandbox
