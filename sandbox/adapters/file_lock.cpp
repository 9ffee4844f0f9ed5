#include "sandbox/adapters/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>

namespace swage::sandbox {

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

Task<FileLock> FileLock::acquire(std::vector<std::filesystem::path> files, Clock& clock,
                                 StopSource& stop) {
  using namespace std::chrono_literals;
  auto pause = Duration(2ms);
  while (!stop.stopping()) {
    bool opened = false;
    for (const auto& file : files) {
      const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (fd < 0) continue;
      opened = true;
      FileLock lock(fd);
      if (::flock(fd, LOCK_EX | LOCK_NB) == 0) co_return lock;
    }
    if (!opened) break;
    co_await clock.sleep_for(pause, stop);
    pause = std::min<Duration>(pause * 2, 50ms);
  }
  co_return FileLock();
}

}  // namespace swage::sandbox
