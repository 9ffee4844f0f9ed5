#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/api/bundle.hpp"

namespace swage::sandbox {

/// What a source text may include, read generously: a name too many costs a cache hit, a name too
/// few is impossible, because a unit is compiled where nothing else can be seen.
struct IncludeNames {
  std::vector<std::string> names;  ///< as written between quotes or angle brackets
  bool computed = false;           ///< an include whose name a macro makes: it may be any file
};
IncludeNames scan_includes(std::string_view source);

/// The files that the compilation of `unit` may see: itself and, transitively, every workspace file
/// that an include may mean (looked for beside the includer, at the top and in kernels/). Sorted by
/// path.
std::vector<const WorkFile*> visible_files(const std::vector<WorkFile>& files,
                                           const WorkFile& unit);

}  // namespace swage::sandbox
