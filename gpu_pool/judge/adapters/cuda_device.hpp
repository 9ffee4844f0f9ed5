#pragma once

#include <memory>
#include <string>

#include "gpu_pool/judge/adapters/device.hpp"

namespace swage::judge {

/// The first NVIDIA GPU as a device. Errors: no driver, no GPU, or a judge built without CUDA.
Result<std::unique_ptr<Device>, std::string> make_cuda_device();

}  // namespace swage::judge
