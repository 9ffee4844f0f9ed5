#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "common/base/files.hpp"
#include "tests/support/signal_process.hpp"

namespace swage::cli {

/// A process that looks like a live controller.
class LiveController {
 public:
  LiveController() : pid_(::fork()) {
    if (pid_ == 0) {
      ::execl("/bin/sleep", "swage-controller", "60", nullptr);
      ::_exit(127);
    }
    const auto command = "/proc/" + std::to_string(pid_) + "/cmdline";
    while (read_file(command).value_or("").find("swage-controller") != 0) ::usleep(1000);
  }
  LiveController(const LiveController&) = delete;
  LiveController& operator=(const LiveController&) = delete;
  ~LiveController() {
    test::signal_process(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

}  // namespace swage::cli
