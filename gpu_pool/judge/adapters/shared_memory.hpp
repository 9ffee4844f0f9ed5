#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "common/base/descriptor.hpp"
#include "common/base/result.hpp"

namespace swage::judge {

/// Anonymous shared memory, mapped writable here. Errors of the system are texts for people.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// Makes `bytes` (> 0) of zeroed memory whose size nobody can change. `name` shows in /proc.
  static Result<SharedMemory, std::string> make(const char* name, std::size_t bytes);
  /// Maps memory that another process made; its true size must be at least `bytes`.
  static Result<SharedMemory, std::string> open(Descriptor descriptor, std::size_t bytes);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  /// From here on nobody can map it writable, resize it, or lift the seals; mappings that exist
  /// (ours) keep their rights.
  Result<void, std::string> seal_against_new_writers();

  std::span<std::byte> bytes() const { return {data_, size_}; }
  std::size_t size() const { return size_; }
  const Descriptor& descriptor() const { return descriptor_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  Descriptor descriptor_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace swage::judge
