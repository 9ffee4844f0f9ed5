#include "sandbox/core/work_path.hpp"

#include <vector>

namespace swage::sandbox {
namespace {

/// Where every agent is told that its work lies. Without namespaces it lies elsewhere, and the
/// tools take this name for it all the same: prompts and habits are the same on every machine.
constexpr std::string_view kShownWork = "/workspace/task";

/// "/a/./b/../c" → "/a/c"; `..` at the top stays there, as the kernel has it.
std::string normalise(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (part == ".." && !parts.empty()) parts.pop_back();
    if (!part.empty() && part != "." && part != "..") parts.push_back(part);
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  std::string out;
  for (const auto part : parts) {
    out += '/';
    out += part;
  }
  return out.empty() ? "/" : out;
}

bool below(std::string_view path, std::string_view root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

std::string relative_to(const std::string& path, const std::string& root) {
  return path == root ? "." : path.substr(root.size() + 1);
}

}  // namespace

Result<RootedPath, std::string> resolve_path(std::string_view path, const AgentRoots& roots) {
  if (!path.starts_with('/'))
    return tl::unexpected("The path must be absolute; start it with " + roots.work + "/.");
  if (path.find('\0') != std::string_view::npos || path.size() > 4000)
    return tl::unexpected("The path is not a file name; use one below " + roots.work + ".");
  auto absolute = normalise(path);
  if (below(absolute, kShownWork) && !below(absolute, roots.work))
    absolute = roots.work + absolute.substr(kShownWork.size());
  for (const bool in_work : {true, false}) {
    const auto& root = in_work ? roots.work : roots.temporary;
    if (below(absolute, root)) {
      auto relative = relative_to(absolute, root);
      return RootedPath{in_work, std::move(relative), std::move(absolute)};
    }
  }
  return tl::unexpected("That path is outside the work directory; use a path below " + roots.work +
                        " or " + roots.temporary + ".");
}

}  // namespace swage::sandbox
