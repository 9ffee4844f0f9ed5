#include "gpu_pool/judge/adapters/device.hpp"

#include "gpu_pool/judge/adapters/cpu_device.hpp"
#include "gpu_pool/judge/adapters/cuda_device.hpp"

namespace swage::judge {

Result<std::unique_ptr<Device>, std::string> make_device(std::string_view kind, Room& room) {
  if (kind == "cpu") return make_cpu_device(room);
  if (kind == "cuda") return make_cuda_device();
  return tl::unexpected("no such kind of device: " + std::string(kind));
}

}  // namespace swage::judge
