#include "gpu_pool/judge/adapters/shared_memory.hpp"

#include <fcntl.h>
#include <linux/fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace swage::judge {
namespace {

std::string system_error(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

constexpr int kSealAll = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

Result<SharedMemory, std::string> SharedMemory::make(const char* name, std::size_t bytes) {
  Descriptor descriptor(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor) return tl::unexpected(system_error("memfd_create"));
  if (::ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0)
    return tl::unexpected(system_error("ftruncate"));
  return open(std::move(descriptor), bytes);
}

Result<SharedMemory, std::string> SharedMemory::open(Descriptor descriptor, std::size_t bytes) {
  struct stat info{};
  if (::fstat(descriptor.get(), &info) != 0) return tl::unexpected(system_error("fstat"));
  if (info.st_size < 0 || static_cast<std::size_t>(info.st_size) < bytes)
    return tl::unexpected<std::string>("shared memory is smaller than said");
  void* at =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor.get(), 0);
  if (at == MAP_FAILED) return tl::unexpected(system_error("mmap"));
  SharedMemory out;
  out.descriptor_ = std::move(descriptor);
  out.data_ = static_cast<std::byte*>(at);
  out.size_ = bytes;
  return out;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this != &other) {
    if (data_ != nullptr) ::munmap(data_, size_);
    descriptor_ = std::move(other.descriptor_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Result<void, std::string> SharedMemory::seal_against_new_writers() {
  if (::fcntl(descriptor_.get(), F_ADD_SEALS, kSealAll | F_SEAL_FUTURE_WRITE) != 0)
    return tl::unexpected(system_error("seal"));
  return {};
}

Result<Descriptor, std::string> make_blob(const char* name, std::string_view content) {
  Descriptor blob(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!blob) return tl::unexpected(system_error("memfd_create"));
  while (!content.empty()) {
    const ssize_t written = ::write(blob.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return tl::unexpected(system_error("write"));
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fcntl(blob.get(), F_ADD_SEALS, kSealAll | F_SEAL_WRITE) != 0)
    return tl::unexpected(system_error("seal"));
  return blob;
}

Result<std::string, std::string> read_blob(const Descriptor& blob, std::size_t limit) {
  struct stat info{};
  if (::fstat(blob.get(), &info) != 0) return tl::unexpected(system_error("fstat"));
  const auto size = static_cast<std::size_t>(info.st_size);
  if (info.st_size < 0 || size > limit) return tl::unexpected<std::string>("a memory file is too large");
  std::string content(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(blob.get(), content.data() + done, size - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return tl::unexpected(system_error("read"));
    done += static_cast<std::size_t>(got);
  }
  return content;
}

}  // namespace swage::judge
