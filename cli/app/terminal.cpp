#include "cli/app/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace swage::cli {

Terminal::Terminal(std::FILE* out) : out_(out), interactive_(::isatty(::fileno(out)) == 1) {}

std::size_t Terminal::width() const {
  winsize size{};
  if (interactive_ && ::ioctl(::fileno(out_), TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
    return size.ws_col - 1U;
  return 200;
}

void Terminal::progress(const std::string& line, const std::string& stable) {
  if (interactive_) {
    std::fprintf(out_, "\r\x1b[K%s", line.c_str());
    open_ = true;
  } else if (stable != last_) {
    std::fprintf(out_, "%s\n", line.c_str());
  }
  last_ = stable;
  std::fflush(out_);
}

void Terminal::print(const std::string& text) {
  if (open_) std::fprintf(out_, "\n");
  open_ = false;
  std::fprintf(out_, "%s", text.c_str());
  std::fflush(out_);
}

}  // namespace swage::cli
