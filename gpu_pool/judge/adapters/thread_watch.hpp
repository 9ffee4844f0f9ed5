#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "common/base/descriptor.hpp"

namespace swage::judge {

/// Looks at the threads of one process through /proc, with files kept open so that a look costs
/// microseconds. Thread: one.
class ThreadWatch {
 public:
  ThreadWatch() = default;
  explicit ThreadWatch(pid_t pid);

  /// What the threads are doing.
  enum class State {
    running,  ///< at least one is not stopped
    stopped,  ///< each is
    gone,     ///< the process has ended
  };
  State look();

  /// Puts every thread ahead of all ordinary work on its processor (`first`), or back among it.
  /// Threads that they start later inherit it. Where that is not allowed nothing happens, and a
  /// busy machine shows as waiting.
  void go_first(bool first);

  /// Nanoseconds that all threads together have waited for a processor; 0 if the kernel keeps no
  /// such record.
  double waited_ns();

  /// How often the process's first thread was given a processor; 0 if the kernel keeps no record.
  std::uint64_t turns();

 private:
  struct Files {
    Descriptor stat;
    Descriptor schedule;
  };
  void refresh();

  pid_t pid_ = 0;
  Descriptor folder_;
  unsigned long links_ = 0;
  std::map<pid_t, Files> threads_;
};

/// Nanoseconds that the calling thread has waited for a processor; 0 if the kernel keeps no
/// account.
double own_waited_ns();

}  // namespace swage::judge
