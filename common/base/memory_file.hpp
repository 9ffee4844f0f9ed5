#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/descriptor.hpp"
#include "common/base/result.hpp"

namespace swage {

/// A sealed memory file that holds `content`, to be passed to another process. Errors are texts for
/// people.
Result<Descriptor, std::string> make_memory_file(const char* name, std::string_view content);

/// The whole content of a file, at most `limit` bytes.
Result<std::string, std::string> read_memory_file(const Descriptor& file, std::size_t limit);

}  // namespace swage
