#include "cli/app/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace swage::cli {

Terminal::Terminal() : interactive_(::isatty(STDOUT_FILENO) == 1) {}

std::size_t Terminal::width() const {
  winsize size{};
  if (interactive_ && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
    return size.ws_col - 1U;
  return 200;
}

void Terminal::progress(const std::string& line, const std::string& stable) {
  if (interactive_) {
    std::printf("\r\x1b[K%s", line.c_str());
    open_ = true;
  } else if (stable != last_) {
    std::printf("%s\n", line.c_str());
  }
  last_ = stable;
  std::fflush(stdout);
}

void Terminal::print(const std::string& text) {
  if (open_) std::printf("\n");
  open_ = false;
  std::printf("%s", text.c_str());
  std::fflush(stdout);
}

}  // namespace swage::cli
