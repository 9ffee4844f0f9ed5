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

std::vector<std::uint32_t> capped_ids(const Renderer& renderer, std::string_view text,
                                      std::uint32_t cap) {
  auto ids = renderer.encode(text);
  const std::size_t most = std::max<std::uint32_t>(cap, 32);
  if (ids.size() <= most) return ids;
  const auto note_of = [&](std::size_t left_out) {
    return renderer.encode("\n[" + std::to_string(left_out) + " tokens left out]\n");
  };
  auto note = note_of(ids.size());
  if (note.size() > most / 2) note.resize(most / 2);
  const auto kept = most - note.size();
  const auto head = static_cast<std::ptrdiff_t>(kept - kept / 2);
  const auto tail = static_cast<std::ptrdiff_t>(kept / 2);
  auto exact = note_of(ids.size() - kept);
  if (exact.size() <= note.size()) note = std::move(exact);
  std::vector<std::uint32_t> capped(ids.begin(), ids.begin() + head);
  capped.insert(capped.end(), note.begin(), note.end());
  capped.insert(capped.end(), ids.end() - tail, ids.end());
  return capped;
}

}  // namespace swage::rollout_worker
