#pragma once

#include <string>
#include <string_view>

namespace swage {

bool is_valid_utf8(std::string_view bytes);

/// The same text with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string to_valid_utf8(std::string_view bytes);

}  // namespace swage
