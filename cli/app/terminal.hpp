#pragma once

#include <cstdio>
#include <string>

namespace swage::cli {

/// An output as a progress display: one line that is rewritten on a terminal, plain lines
/// elsewhere (each only when its text, without the clock, has changed).
class Terminal {
 public:
  /// out: outlives it.
  explicit Terminal(std::FILE* out = stdout);
  /// stable: the part of the line that decides whether a plain line is printed.
  void progress(const std::string& line, const std::string& stable);
  /// Ends the rewritten line and prints text after it.
  void print(const std::string& text);
  std::size_t width() const;

 private:
  std::FILE* out_;
  bool interactive_;
  bool open_ = false;
  std::string last_;
};

}  // namespace swage::cli
