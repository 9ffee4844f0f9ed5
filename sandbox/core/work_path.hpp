#pragma once

#include <string>
#include <string_view>

#include "common/base/result.hpp"

namespace swage::sandbox {

/// The two directories an agent may use, as absolute paths in its own view.
struct AgentRoots {
  std::string work = "/workspace/task";
  std::string temporary = "/tmp";
};

/// A path that lies in one of the roots by its text. Symbolic links are the opener's business.
struct RootedPath {
  bool in_work = true;
  std::string relative;  ///< below the root; `.` for the root itself
  std::string absolute;  ///< normalised
};

/// Normalises `path` (`.`, `..`, repeated slashes); a path below /workspace/task is one below
/// roots.work, wherever that is. Error: a sentence that says what to do instead.
Result<RootedPath, std::string> resolve_path(std::string_view path, const AgentRoots& roots);

}  // namespace swage::sandbox
