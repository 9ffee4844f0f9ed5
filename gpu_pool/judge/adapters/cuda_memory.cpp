#include "gpu_pool/judge/adapters/cuda_memory.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace swage::judge {
namespace {

constexpr unsigned kVersion = 12000;  // the driver's functions as they were named then

/// The driver's functions, found through the runtime: linking libcuda would tie the judge to
/// machines that have it.
struct Driver {
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemExportToShareableHandle) give = nullptr;
  decltype(&cuMemImportFromShareableHandle) take = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) unreserve = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) allow = nullptr;
};

template <class Fn>
bool find(const char* name, Fn& fn) {
  void* at = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (cudaGetDriverEntryPointByVersion(name, &at, kVersion, cudaEnableDefault, &found) !=
          cudaSuccess ||
      found != cudaDriverEntryPointSuccess)
    return false;
  fn = reinterpret_cast<Fn>(at);
  return true;
}

const Driver* driver() {
  static const auto found = [] {
    Driver out;
    const bool all = find("cuMemCreate", out.create) && find("cuMemRelease", out.release) &&
                     find("cuMemExportToShareableHandle", out.give) &&
                     find("cuMemImportFromShareableHandle", out.take) &&
                     find("cuMemAddressReserve", out.reserve) &&
                     find("cuMemAddressFree", out.unreserve) && find("cuMemMap", out.map) &&
                     find("cuMemUnmap", out.unmap) && find("cuMemSetAccess", out.allow);
    return std::pair(out, all);
  }();
  return found.second ? &found.first : nullptr;
}

tl::unexpected<std::string> failed(const char* step, CUresult code) {
  return tl::unexpected(std::string(step) + " failed with code " + std::to_string(code));
}

/// A mapping and the descriptor behind it.
class Mapping {
 public:
  Mapping(const Driver& driver, Descriptor descriptor)
      : driver_(driver), descriptor_(std::move(descriptor)) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (mapped_) driver_.unmap(address_, bytes_);
    if (address_ != 0) driver_.unreserve(address_, bytes_);
  }

  Result<void, std::string> map(int device, CUmemGenericAllocationHandle memory,
                                std::size_t bytes) {
    bytes_ = bytes;
    if (const auto code = driver_.reserve(&address_, bytes, 0, 0, 0); code != CUDA_SUCCESS)
      return failed("cuMemAddressReserve", code);
    if (const auto code = driver_.map(address_, bytes, 0, memory, 0); code != CUDA_SUCCESS)
      return failed("cuMemMap", code);
    mapped_ = true;
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (const auto code = driver_.allow(address_, bytes, &access, 1); code != CUDA_SUCCESS)
      return failed("cuMemSetAccess", code);
    return {};
  }
  std::byte* address() const { return reinterpret_cast<std::byte*>(address_); }
  int descriptor() const { return descriptor_.get(); }

 private:
  const Driver& driver_;
  Descriptor descriptor_;
  CUdeviceptr address_ = 0;
  std::size_t bytes_ = 0;
  bool mapped_ = false;
};

std::size_t rounded(std::size_t bytes) {
  return (bytes + kCudaGranularity - 1) / kCudaGranularity * kCudaGranularity;
}

Result<DeviceMemory, std::string> mapped(const Driver& driver, int device, Descriptor descriptor,
                                         CUmemGenericAllocationHandle memory, std::size_t bytes) {
  auto mapping = std::make_shared<Mapping>(driver, std::move(descriptor));
  const auto done = mapping->map(device, memory, rounded(bytes));
  driver.release(memory);  // the mapping and the descriptor keep it
  if (!done) return tl::unexpected(done.error());
  const std::span<std::byte> range(mapping->address(), bytes);
  const int number = mapping->descriptor();
  return DeviceMemory(number, range, std::move(mapping));
}

}  // namespace

Result<DeviceMemory, std::string> make_cuda_memory(int device, std::size_t bytes) {
  const Driver* driver = judge::driver();
  if (driver == nullptr)
    return tl::unexpected<std::string>("the driver has no virtual memory management");
  CUmemAllocationProp what{};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  what.location.id = device;
  CUmemGenericAllocationHandle memory = 0;
  if (const auto code = driver->create(&memory, rounded(bytes), &what, 0); code != CUDA_SUCCESS)
    return failed("cuMemCreate", code);
  int number = -1;
  if (const auto code = driver->give(&number, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
      code != CUDA_SUCCESS) {
    driver->release(memory);
    return failed("cuMemExportToShareableHandle", code);
  }
  return mapped(*driver, device, Descriptor(number), memory, bytes);
}

Result<DeviceMemory, std::string> open_cuda_memory(int device, Descriptor descriptor,
                                                   std::size_t bytes) {
  const Driver* driver = judge::driver();
  if (driver == nullptr)
    return tl::unexpected<std::string>("the driver has no virtual memory management");
  CUmemGenericAllocationHandle memory = 0;
  // The descriptor travels as a pointer's value.
  void* const number = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor.get()));
  if (const auto code = driver->take(&memory, number, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
      code != CUDA_SUCCESS)
    return failed("cuMemImportFromShareableHandle", code);
  return mapped(*driver, device, std::move(descriptor), memory, bytes);
}

}  // namespace swage::judge
