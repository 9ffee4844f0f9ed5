#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace swage::k8s {

/// Cuts a byte stream, as it arrives in pieces, into lines. A line above `longest` bytes makes
/// feed() return false, and the stream is to be given up. Thread: one.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest = std::size_t{2} << 20) : longest_(longest) {}

  /// Calls `line` for each line that is complete now, without its end; empty ones are left out.
  bool feed(std::string_view bytes, const std::function<void(std::string)>& line) {
    while (!bytes.empty()) {
      const auto end = bytes.find('\n');
      const auto part = bytes.substr(0, end);
      if (rest_.size() + part.size() > longest_) return false;
      rest_.append(part);
      if (end == std::string_view::npos) return true;
      bytes.remove_prefix(end + 1);
      if (!rest_.empty()) line(std::move(rest_));
      rest_.clear();
    }
    return true;
  }
  /// What came after the last end of line: of a stream that ended well it is the last line.
  std::string take_rest() { return std::move(rest_); }

 private:
  std::size_t longest_;
  std::string rest_;
};

}  // namespace swage::k8s
