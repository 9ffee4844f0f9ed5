#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace swage::sandbox {

/// Characters of an observation, as agents know the tools.
inline constexpr std::size_t kMaxObservation = 30'000;

/// Code points of valid UTF-8.
std::size_t count_characters(std::string_view utf8);

/// The first `count` code points.
std::string_view first_characters(std::string_view utf8, std::size_t count);
std::string_view last_characters(std::string_view utf8, std::size_t count);

/// At most `limit` characters (>= 200): the middle is replaced by a line that counts what was left
/// out. already_left_out: characters that somebody dropped from the middle before.
std::string cut_middle(std::string_view utf8, std::size_t limit = kMaxObservation,
                       std::uint64_t already_left_out = 0);

/// Takes an endless stream and keeps its first and last part: enough for cut_middle at `characters`
/// (>= 200). Holds 12 bytes a character at most. Not thread-safe.
class HeadAndTail {
 public:
  explicit HeadAndTail(std::size_t characters = kMaxObservation) : characters_(characters) {}
  void add(std::string_view bytes);
  bool empty() const { return head_.empty(); }
  /// Valid UTF-8, cut to so many characters; forgets everything.
  std::string take();

 private:
  std::size_t keep() const { return characters_ * 4; }  // four bytes a character at most
  std::size_t characters_;
  std::string head_, tail_;
  std::uint64_t dropped_ = 0;
};

}  // namespace swage::sandbox
