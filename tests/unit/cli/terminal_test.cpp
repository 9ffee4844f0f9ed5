#include "cli/app/terminal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "common/base/files.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::cli {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

void show(Terminal& terminal) {
  terminal.progress("0:01 one", "one");
  terminal.progress("0:02 one", "one");
  terminal.progress("0:03 two", "two");
  terminal.print("end\n");
}

/// A terminal hands out what was written in pieces of its own choice.
std::string read_bytes(int terminal, std::size_t wanted) {
  std::string got;
  while (got.size() < wanted) {
    char text[256];
    const auto count = ::read(terminal, text, sizeof text);
    if (count <= 0) break;
    got.append(text, static_cast<std::size_t>(count));
  }
  return got;
}

TEST(Terminal, ElsewhereALineIsPrintedOnlyWhenMoreThanTheClockChanged) {
  test::TempDirectory folder;
  const auto path = folder.path() / "log";
  File file(std::fopen(path.c_str(), "we"));
  Terminal plain(file.get());
  show(plain);
  EXPECT_EQ(read_file(path).value_or(""), "0:01 one\n0:03 two\nend\n");
  EXPECT_EQ(plain.width(), 200U);
}

TEST(Terminal, OnATerminalOneLineIsRewrittenAndEndedBeforeText) {
  int ours = -1;
  int theirs = -1;
  winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::openpty(&ours, &theirs, nullptr, nullptr, &size), 0);
  {
    File file(::fdopen(theirs, "w"));
    Terminal terminal(file.get());
    EXPECT_EQ(terminal.width(), 79U);
    show(terminal);
    const std::string wanted = "\r\x1b[K0:01 one\r\x1b[K0:02 one\r\x1b[K0:03 two\r\nend\r\n";
    EXPECT_EQ(read_bytes(ours, wanted.size()), wanted);
  }
  ::close(ours);
}

}  // namespace
}  // namespace swage::cli
