#include "gpu_pool/judge/core/quote.hpp"

#include <array>

namespace swage::judge {
namespace {

/// Bytes of the valid UTF-8 character at the front, 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  std::size_t length = 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) length = 2;
  if (first >= 0xE0 && first < 0xF0) length = 3;
  if (first >= 0xF0 && first < 0xF5) length = 4;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool outside = (first == 0xED && byte(1) >= 0xA0) || (first == 0xF4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

/// C0 but line end and tab, DEL, C1, and the marks that hide or reorder text on a terminal.
bool is_control(std::string_view character) {
  if (character.empty()) return false;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1)
    return (byte(0) < 0x20 && byte(0) != '\n' && byte(0) != '\t') || byte(0) == 0x7F;
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  const unsigned char last = byte(2);
  if (byte(1) == 0x80) return (last >= 0x8B && last <= 0x8F) || (last >= 0xA8 && last <= 0xAE);
  return byte(1) == 0x81 && last >= 0xA0 && last <= 0xAF;
}

void append_escaped(std::string& out, unsigned char byte) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\x";
  out += kDigits[byte >> 4U];
  out += kDigits[byte & 15U];
}

std::string escape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t length = utf8_length(text);
    const bool control = is_control(text.substr(0, length));
    if (length == 0 || control) {
      length = length == 0 ? 1 : length;
      for (const char byte : text.substr(0, length))
        append_escaped(out, static_cast<unsigned char>(byte));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::string quote(std::string_view text, std::size_t limit) {
  std::string out = escape(text);
  if (out.size() <= limit) return out;
  const std::string mark = "\n... " + std::to_string(out.size() - limit) + " bytes left out ...\n";
  if (mark.size() >= limit) return out.substr(0, limit);
  const std::size_t keep = limit - mark.size();
  const auto is_inside = [&](std::size_t at) {
    return (static_cast<unsigned char>(out[at]) & 0xC0U) == 0x80U;
  };
  std::size_t head = keep / 4;  // the end of a log says more than its beginning
  std::size_t tail = out.size() - (keep - head);
  while (head > 0 && is_inside(head)) --head;
  while (tail < out.size() && is_inside(tail)) ++tail;
  return out.substr(0, head) + mark + out.substr(tail);
}

}  // namespace swage::judge
