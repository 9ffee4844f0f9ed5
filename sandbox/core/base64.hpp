#pragma once

#include <string>
#include <string_view>

namespace swage::sandbox {

/// RFC 4648 with padding. Decoding throws std::invalid_argument for anything else.
std::string base64_encode(std::string_view bytes);
std::string base64_decode(std::string_view text);

}  // namespace swage::sandbox
