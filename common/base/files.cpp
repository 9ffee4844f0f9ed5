#include "common/base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "common/base/descriptor.hpp"
#include "common/base/digest.hpp"

namespace swage {
namespace {

FileError last_error(std::string_view doing, const std::filesystem::path& path) {
  const std::error_code code(errno, std::generic_category());
  return {code, std::string(doing) + " " + path.string() + ": " + code.message()};
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const auto done = ::write(fd, content.data(), content.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

}  // namespace

Result<std::string, FileError> read_file(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return tl::unexpected(last_error("cannot read", path));
  std::ostringstream out;
  out << in.rdbuf();
  if (in.bad()) return tl::unexpected(last_error("cannot read", path));
  return std::move(out).str();
}

Result<void, FileError> sync_directory(const std::filesystem::path& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0)
    return tl::unexpected(last_error("cannot sync", path));
  return {};
}

Result<void, FileError> write_file_durably(const std::filesystem::path& path,
                                           std::string_view content, unsigned mode) {
  const auto temporary = std::filesystem::path(path.string() + ".tmp-" + to_hex(random_bytes(4)));
  {
    const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file.get() < 0) return tl::unexpected(last_error("cannot create", temporary));
    if (!write_all(file.get(), content) || ::fsync(file.get()) != 0) {
      auto error = last_error("cannot write", temporary);
      ::unlink(temporary.c_str());
      return tl::unexpected(std::move(error));
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    auto error = last_error("cannot rename to", path);
    ::unlink(temporary.c_str());
    return tl::unexpected(std::move(error));
  }
  const auto parent = path.parent_path();
  return sync_directory(parent.empty() ? std::filesystem::path(".") : parent);
}

std::string environment_or(const char* name, std::string_view fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::string(value) : std::string(fallback);
}

std::filesystem::path cache_directory() {
  const auto xdg = environment_or("XDG_CACHE_HOME", "");
  const auto base = xdg.empty() ? std::filesystem::path(environment_or("HOME", "/tmp")) / ".cache"
                                : std::filesystem::path(xdg);
  return base / "swage";
}

std::filesystem::path torch_directory(const std::filesystem::path& environment) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(environment / "lib", failed)) {
    auto torch = entry.path() / "site-packages" / "torch";
    if (std::filesystem::is_directory(torch, failed)) return torch;
  }
  return {};
}

}  // namespace swage
