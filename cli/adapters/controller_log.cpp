#include "cli/adapters/controller_log.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "common/base/files.hpp"

namespace swage::cli {

namespace fs = std::filesystem;

Result<ControllerLog, LogRefusal> ControllerLog::take(const fs::path& out) {
  const fs::path path = out.string() + ".controller.log";
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file) {
    const int error = errno;
    const std::string remedy = error == ENOSPC ? "free some space there" : "choose another --out";
    return tl::unexpected(LogRefusal{
        false, "cannot write " + path.string() + ": " + std::strerror(error) + "; " + remedy});
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return tl::unexpected(
        LogRefusal{true, out.string() + " is used by another `swage run`: stop that one first "
                                        "(Ctrl-C), or give another --out"});
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) info.st_size = 0;
  return ControllerLog(path, std::move(file), info.st_size);
}

std::string ControllerLog::said() const {
  const auto whole = read_file(path_).value_or("");
  const auto from = static_cast<std::size_t>(before_);
  return from < whole.size() ? whole.substr(from) : "";
}

void ControllerLog::undo() {
  std::error_code ignored;
  if (before_ == 0) {
    fs::remove(path_, ignored);
  } else {
    fs::resize_file(path_, static_cast<std::uintmax_t>(before_), ignored);
  }
}

}  // namespace swage::cli
