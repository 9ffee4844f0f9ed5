#include "gpu_pool/judge/core/bands.hpp"

#include <algorithm>

namespace swage::judge {

bool band_intact(std::span<const std::byte> band) {
  return std::ranges::all_of(band, [](std::byte value) { return value == kBandByte; });
}

bool bands_intact(std::span<const std::byte> arena, std::uint64_t offset, std::uint64_t bytes) {
  if (offset % kBandBytes != 0 || bytes == 0) return true;
  const std::uint64_t end = offset + bytes;
  const std::uint64_t last = (end + kBandBytes - 1) / kBandBytes * kBandBytes + kBandBytes;
  if (offset < kBandBytes || last > arena.size()) return true;
  return band_intact(arena.subspan(offset - kBandBytes, kBandBytes)) &&
         band_intact(arena.subspan(end, last - end));
}

}  // namespace swage::judge
