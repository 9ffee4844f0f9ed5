#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.hpp"
#include "sandbox/api/bundle.hpp"
#include "sandbox/core/work_path.hpp"

/// Paths of tool calls and bundles: what is taken never leaves its root.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace swage::sandbox;
  const std::string_view path(reinterpret_cast<const char*>(data), size);
  for (const AgentRoots& roots : {AgentRoots{}, AgentRoots{"/var/s/work", "/var/s/tmp"}}) {
    const auto found = resolve_path(path, roots);
    if (!found) continue;
    const auto& root = found->in_work ? roots.work : roots.temporary;
    swage::check(found->absolute == root || found->absolute.starts_with(root + "/"),
                 "a path leaves its root");
    const auto dots = ("/" + found->relative + "/").find("/../");
    swage::check(dots == std::string::npos, "a relative path climbs");
  }
  if (check_bundle_path(path)) {
    swage::check(!path.starts_with('/'), "an absolute path in a bundle");
    swage::check(("/" + std::string(path) + "/").find("/../") == std::string::npos,
                 "a path in a bundle climbs");
  }
  return 0;
}
