#pragma once

#include <source_location>
#include <string_view>

namespace swage {

/// Ends the process with file, line and reason when `condition` is false, in every build.
/// For what cannot happen unless swage itself has a bug; never for input, network or disk.
void check(bool condition, std::string_view why,
           std::source_location where = std::source_location::current());

}  // namespace swage
