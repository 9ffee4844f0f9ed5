#include "sandbox/core/text.hpp"

#include <algorithm>
#include <utility>

namespace swage::sandbox {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

/// Length of the valid sequence at the start of `text` (not empty), or 0.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!continues(text[i])) return 0;
  const unsigned second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool beyond = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : length;
}

}  // namespace

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto length = sequence_length(bytes);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      bytes.remove_prefix(1);
    } else {
      out += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return out;
}

std::size_t count_characters(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char c) { return !continues(c); }));
}

std::string_view first_characters(std::string_view utf8, std::size_t count) {
  std::size_t at = 0;
  while (at < utf8.size() && (continues(utf8[at]) || count-- > 0)) ++at;
  return utf8.substr(0, at);
}

std::string_view last_characters(std::string_view utf8, std::size_t count) {
  std::size_t at = utf8.size();
  while (at > 0 && count > 0)
    if (!continues(utf8[--at])) --count;
  return utf8.substr(at);
}

std::string cut_middle(std::string_view utf8, std::size_t limit, std::uint64_t already_left_out) {
  const auto characters = count_characters(utf8);
  if (already_left_out == 0 && characters <= limit) return std::string(utf8);
  constexpr std::size_t kMarker = 80;  // more than the line below can take
  const std::size_t each = (limit - kMarker) / 2;
  const auto kept = std::min(characters, 2 * each);
  const auto left_out = characters - kept + already_left_out;
  std::string out(first_characters(utf8, kept / 2));
  out += "\n... [" + std::to_string(left_out) + " characters left out] ...\n";
  out += last_characters(utf8, kept - kept / 2);
  return out;
}

void HeadAndTail::add(std::string_view bytes) {
  const auto room = std::min(kKeep - head_.size(), bytes.size());
  head_ += bytes.substr(0, room);
  tail_ += bytes.substr(room);
  if (tail_.size() > 2 * kKeep) {
    dropped_ += tail_.size() - kKeep;
    tail_.erase(0, tail_.size() - kKeep);
  }
}

std::string HeadAndTail::take() {
  const auto head = std::exchange(head_, {});
  const auto tail = std::exchange(tail_, {});
  return cut_middle(to_valid_utf8(head + tail), kMaxObservation, std::exchange(dropped_, 0));
}

}  // namespace swage::sandbox
