#include "gpu_pool/judge/adapters/turn.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace swage::judge {

Descriptor wait_for_turn(const std::vector<int>& cores) {
  std::error_code failed;
  const auto folder = std::filesystem::temp_directory_path(failed);
  if (failed || cores.empty()) return {};
  const auto path = folder / ("swage-judge-core-" + std::to_string(cores.front()) + ".lock");
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return {};
  while (::flock(file.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return file;
}

}  // namespace swage::judge
