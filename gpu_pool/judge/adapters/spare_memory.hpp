#pragma once

#include <cstdint>

namespace swage::judge {

/// Four fifths of what the kernel can give without swapping, in bytes: the rest is for everybody
/// else on the machine.
std::uint64_t spare_memory();

}  // namespace swage::judge
