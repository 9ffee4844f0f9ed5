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

/// Whether a file of the agent goes into a bundle: Python, C++ or CUDA text in `.` or `kernels/`,
/// no protected name, no hidden one. What does not is left where it is and judged by nobody.
bool is_handed_in(std::string_view path);

/// Names of the template's files that are compiled into every solution.
const std::vector<std::string>& template_sources();

/// The agent's files as they are handed in, whatever they are now: those that is_handed_in(),
/// writable, sorted by path.
std::vector<WorkFile> handed_in(std::vector<WorkFile> files);

/// What a bundle is made of, sorted by path: the pristine files (template_sources() and the task as
/// model.py), read-only, and the agent's. A sandbox and `swage judge` make the same bundle of the
/// same folder by it.
std::vector<WorkFile> bundle_files(std::vector<WorkFile> pristine, std::vector<WorkFile> agents);

}  // namespace swage::sandbox
