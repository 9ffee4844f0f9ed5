#include "gpu_pool/judge/app/machine.hpp"

namespace swage::judge {

Result<std::unique_ptr<Machine>, std::string> Machine::make(const SessionBegin& begin) {
  std::unique_ptr<Machine> out(new Machine(begin));
  auto plain = make_device("cpu", out->room_);
  if (!plain) return tl::unexpected(plain.error());
  out->plain_ = std::move(*plain);
  if (begin.request.device == "cpu") return out;
  auto kernels = make_device(begin.request.device, out->room_);
  if (!kernels) return tl::unexpected(kernels.error());
  out->kernels_ = std::move(*kernels);
  return out;
}

}  // namespace swage::judge
