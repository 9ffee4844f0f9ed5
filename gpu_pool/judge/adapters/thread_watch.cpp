#include "gpu_pool/judge/adapters/thread_watch.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace swage::judge {
namespace {

/// The state letter of a /proc stat file; 0 when the thread has gone.
char state_in(int stat) {
  std::array<char, 256> text;
  const ssize_t got = ::pread(stat, text.data(), text.size(), 0);
  if (got <= 0) return 0;
  const std::string_view line(text.data(), static_cast<std::size_t>(got));
  const std::size_t name_end = line.rfind(')');  // the name itself may hold anything
  return name_end != line.npos && name_end + 2 < line.size() ? line[name_end + 2] : '\0';
}

struct Schedule {
  std::uint64_t waited_ns = 0;
  std::uint64_t turns = 0;
};

/// What a /proc schedstat file holds: nanoseconds run, nanoseconds waited, turns on a processor.
Schedule schedule_in(int schedstat) {
  std::array<char, 128> text{};
  if (::pread(schedstat, text.data(), text.size() - 1, 0) <= 0) return {};
  Schedule out;
  char* rest = nullptr;
  std::strtoull(text.data(), &rest, 10);
  out.waited_ns = std::strtoull(rest, &rest, 10);
  out.turns = std::strtoull(rest, nullptr, 10);
  return out;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

ThreadWatch::ThreadWatch(pid_t pid)
    : pid_(pid),
      folder_(::open(("/proc/" + std::to_string(pid) + "/task").c_str(),
                     O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

void ThreadWatch::refresh() {
  threads_.clear();
  const int copy = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return;
  const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(copy));
  if (!folder) return;
  for (const dirent* entry = ::readdir(folder.get()); entry != nullptr;
       entry = ::readdir(folder.get())) {
    const pid_t id = std::atoi(entry->d_name);
    if (id <= 0) continue;
    const std::string base = entry->d_name;
    threads_[id] = {
        Descriptor(::openat(folder_.get(), (base + "/stat").c_str(), O_RDONLY | O_CLOEXEC)),
        Descriptor(::openat(folder_.get(), (base + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC))};
  }
}

ThreadWatch::State ThreadWatch::look() {
  struct stat info{};
  if (::fstat(folder_.get(), &info) != 0) return State::gone;
  bool complete = true;
  if (info.st_nlink != links_ || threads_.empty()) {
    refresh();
    // Threads may have come while we listed them: one more look must see the same number.
    complete = info.st_nlink == links_;
    links_ = info.st_nlink;
    if (threads_.empty()) return State::gone;
  }
  bool any = false;
  for (const auto& [id, files] : threads_) {
    const char state = state_in(files.stat.get());
    if (state == 0 || state == 'X' || state == 'Z') continue;
    any = true;
    if (state != 'T' && state != 't') return State::running;
  }
  if (!any) return State::gone;
  return complete ? State::stopped : look();
}

void ThreadWatch::go_first(bool first) {
  if (threads_.empty()) refresh();
  sched_param priority{};
  priority.sched_priority = first ? 1 : 0;
  for (const auto& [id, files] : threads_)
    ::sched_setscheduler(id, first ? SCHED_RR : SCHED_OTHER, &priority);
}

double ThreadWatch::waited_ns() {
  double total = 0;
  for (const auto& [id, files] : threads_)
    total += static_cast<double>(schedule_in(files.schedule.get()).waited_ns);
  return total;
}

std::uint64_t ThreadWatch::turns() {
  if (threads_.empty()) refresh();
  const auto first = threads_.find(pid_);
  return first == threads_.end() ? 0 : schedule_in(first->second.schedule.get()).turns;
}

double own_waited_ns() {
  thread_local const Descriptor kSchedule(
      ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
  return static_cast<double>(schedule_in(kSchedule.get()).waited_ns);
}

}  // namespace swage::judge
