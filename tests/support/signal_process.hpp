#pragma once

#include <signal.h>
#include <sys/types.h>

#include <stdexcept>
#include <string>

namespace swage::test {

/// ::kill for one process. A process that never started has number -1, which to ::kill means every
/// process of the machine: that throws here.
inline int signal_process(pid_t pid, int number) {
  if (pid <= 1) throw std::logic_error("no process to signal: " + std::to_string(pid));
  return ::kill(pid, number);
}

}  // namespace swage::test
