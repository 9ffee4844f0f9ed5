#include "rollout_worker/core/observation.hpp"

#include <algorithm>

#include "common/base/digest.hpp"

namespace swage::rollout_worker {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string mask_numbers(std::string_view text) {
  std::string masked;
  masked.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (!digit(text[i])) {
      masked += text[i++];
      continue;
    }
    masked += '#';
    while (i < text.size() &&
           (digit(text[i]) || (text[i] == '.' && i + 1 < text.size() && digit(text[i + 1]))))
      ++i;
  }
  return masked;
}

std::string observation_digest(std::span<const std::string> texts) {
  Sha256 hash;
  for (const auto& text : texts) {
    const auto masked = mask_numbers(text);
    hash.update(std::to_string(masked.size()) + ":");  // so that no two lists look alike
    hash.update(masked);
  }
  return hash.hex();
}

std::string capped(const Renderer& renderer, std::string_view text, std::uint32_t cap) {
  const auto ids = renderer.encode(text);
  const std::size_t most = std::max<std::uint32_t>(cap, 32);
  if (ids.size() <= most) return std::string(text);
  const auto note_of = [](std::size_t left_out) {
    return "\n[" + std::to_string(left_out) + " tokens left out]\n";
  };
  const auto note_tokens = renderer.encode(note_of(ids.size())).size();
  const auto kept = most - std::min(note_tokens, most / 2);
  const std::span<const std::uint32_t> all(ids);
  const auto head = all.first(kept - kept / 2);
  const auto tail = all.last(kept / 2);
  return renderer.decode(head) + note_of(ids.size() - kept) + renderer.decode(tail);
}

}  // namespace swage::rollout_worker
