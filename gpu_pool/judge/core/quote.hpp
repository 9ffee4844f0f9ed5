#pragma once

#include <string>
#include <string_view>

namespace swage::judge {

/// Makes untrusted text safe to show and to store: control characters and bytes that are not valid
/// UTF-8 become \xNN, line ends stay; at most `limit` bytes, the middle cut out and counted.
std::string quote(std::string_view text, std::size_t limit);

}  // namespace swage::judge
