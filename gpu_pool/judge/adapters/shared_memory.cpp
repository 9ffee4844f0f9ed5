#include "gpu_pool/judge/adapters/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace swage::judge {
namespace {

std::string system_error(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010  // Linux 5.1; older C libraries do not name it
#endif

}  // namespace

Result<SharedMemory, std::string> SharedMemory::make(const char* name, std::size_t bytes) {
  Descriptor descriptor(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor) return tl::unexpected(system_error("memfd_create"));
  if (::ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0)
    return tl::unexpected(system_error("ftruncate"));
  if (::fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return tl::unexpected(system_error("seal"));
  return open(std::move(descriptor), bytes);
}

Result<SharedMemory, std::string> SharedMemory::open(Descriptor descriptor, std::size_t bytes) {
  struct stat info{};
  if (::fstat(descriptor.get(), &info) != 0) return tl::unexpected(system_error("fstat"));
  if (info.st_size < 0 || static_cast<std::size_t>(info.st_size) < bytes)
    return tl::unexpected<std::string>("shared memory is smaller than said");
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                    descriptor.get(), 0);
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
  if (::fcntl(descriptor_.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_FUTURE_WRITE) != 0)
    return tl::unexpected(system_error("seal"));
  return {};
}

}  // namespace swage::judge
