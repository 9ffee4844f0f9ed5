#pragma once

#include <memory>

#include "gpu_pool/judge/adapters/device.hpp"

namespace swage::judge {

/// The processor as a device: memory files, and hosts that stand still whenever the judge works.
std::unique_ptr<Device> make_cpu_device(Room& room);

}  // namespace swage::judge
