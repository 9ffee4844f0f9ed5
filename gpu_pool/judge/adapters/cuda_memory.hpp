#pragma once

#include <cstddef>
#include <string>

#include "gpu_pool/judge/adapters/device.hpp"

namespace swage::judge {

/// What sizes of exported memory are multiples of; hosts map whole multiples
/// (swage_model_host/cuda.py).
inline constexpr std::size_t kCudaGranularity = 2UL << 20;

/// Device memory that can be handed to other processes by a descriptor (CUDA's virtual memory
/// management). The current device's context must exist. Errors name the driver's function.
Result<DeviceMemory, std::string> make_cuda_memory(int device, std::size_t bytes);
/// The same memory, made by another process.
Result<DeviceMemory, std::string> open_cuda_memory(int device, Descriptor descriptor,
                                                   std::size_t bytes);

}  // namespace swage::judge
