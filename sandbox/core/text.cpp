#include "sandbox/core/text.hpp"

#include <algorithm>
#include <utility>

#include "common/base/utf8.hpp"

namespace swage::sandbox {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

}  // namespace

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
  const auto room = std::min(keep() - head_.size(), bytes.size());
  head_ += bytes.substr(0, room);
  tail_ += bytes.substr(room);
  if (tail_.size() > 2 * keep()) {
    dropped_ += tail_.size() - keep();
    tail_.erase(0, tail_.size() - keep());
  }
}

std::string HeadAndTail::take() {
  const auto head = std::exchange(head_, {});
  const auto tail = std::exchange(tail_, {});
  return cut_middle(to_valid_utf8(head + tail), characters_, std::exchange(dropped_, 0));
}

}  // namespace swage::sandbox
