#include "policy/tokenizer/byte_level.hpp"

#include <unordered_map>

namespace swage::policy {
namespace {

std::string two_byte_utf8(std::uint32_t code_point) {
  if (code_point < 0x80) return std::string(1, static_cast<char>(code_point));
  return {static_cast<char>(0xC0 | (code_point >> 6)),
          static_cast<char>(0x80 | (code_point & 0x3F))};
}

bool stands_for_itself(std::uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// Length of the well-formed sequence at the start of `text`, or 0; `bad` is then the length of the
/// maximal ill-formed part. Ranges: table 3-7 of the Unicode standard.
std::size_t sequence_length(std::string_view text, std::size_t& bad) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = at(0);
  bad = 1;
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  for (std::size_t i = 1; i < length; ++i) {
    bad = i;
    if (i >= text.size() || at(i) < low || at(i) > high) return 0;
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

}  // namespace

const std::array<std::string, 256>& byte_level_alphabet() {
  static const auto kTable = [] {
    std::array<std::string, 256> made;
    std::uint32_t next = 0x100;
    for (std::uint32_t byte = 0; byte < 256; ++byte)
      made[byte] = two_byte_utf8(stands_for_itself(byte) ? byte : next++);
    return made;
  }();
  return kTable;
}

std::optional<std::string> from_byte_level(std::string_view text) {
  static const auto kReverse = [] {
    std::unordered_map<std::string_view, char> made;
    for (std::size_t byte = 0; byte < 256; ++byte)
      made.emplace(byte_level_alphabet()[byte], static_cast<char>(byte));
    return made;
  }();
  std::string out;
  std::size_t bad = 0;
  while (!text.empty()) {
    const auto length = sequence_length(text, bad);
    const auto found = kReverse.find(text.substr(0, length));
    if (length == 0 || found == kReverse.end()) return std::nullopt;
    out += found->second;
    text.remove_prefix(length);
  }
  return out;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::size_t bad = 0;
  while (!text.empty()) {
    const auto length = sequence_length(text, bad);
    if (length > 0) {
      out += text.substr(0, length);
    } else {
      out += "\xEF\xBF\xBD";
    }
    text.remove_prefix(length > 0 ? length : bad);
  }
  return out;
}

}  // namespace swage::policy
