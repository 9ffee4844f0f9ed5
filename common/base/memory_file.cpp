#include "common/base/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace swage {
namespace {

std::string system_error(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

}  // namespace

Result<Descriptor, std::string> make_memory_file(const char* name, std::string_view content) {
  Descriptor file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return tl::unexpected(system_error("memfd_create"));
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return tl::unexpected(system_error("write"));
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) !=
      0)
    return tl::unexpected(system_error("seal"));
  return file;
}

Result<std::string, std::string> read_memory_file(const Descriptor& file, std::size_t limit) {
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return tl::unexpected(system_error("fstat"));
  const auto size = static_cast<std::size_t>(info.st_size);
  if (info.st_size < 0 || size > limit)
    return tl::unexpected<std::string>("a memory file is too large");
  std::string content(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(file.get(), content.data() + done, size - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return tl::unexpected(system_error("read"));
    done += static_cast<std::size_t>(got);
  }
  return content;
}

}  // namespace swage
