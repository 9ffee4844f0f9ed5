#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace swage::policy {

/// The byte-level alphabet of GPT-2: each byte has one printable character. Bytes that are
/// printable in Latin-1 stand for themselves, the others for U+0100 upwards in byte order.
const std::array<std::string, 256>& byte_level_alphabet();

/// Alphabet characters → bytes; nothing if a character is not of the alphabet.
std::optional<std::string> from_byte_level(std::string_view text);

/// Replaces each maximal ill-formed part of a UTF-8 sequence by U+FFFD, as the Unicode standard
/// recommends. Well-formed text comes back unchanged.
std::string valid_utf8(std::string_view text);

}  // namespace swage::policy
