#include "controller/api/resources.hpp"

namespace swage::controller {

const char* device_kind_name(DeviceKind kind) { return kind == DeviceKind::cuda ? "cuda" : "cpu"; }

}  // namespace swage::controller
