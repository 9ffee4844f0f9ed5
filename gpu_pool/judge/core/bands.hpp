#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace swage::judge {

/// gpu_pool/model_host/arena_allocator.cpp writes this byte around every allocation.
inline constexpr std::byte kBandByte{0xC7};
inline constexpr std::size_t kBandBytes = 4096;          ///< before and after an allocation
inline constexpr std::size_t kEndBandBytes = 2UL << 20;  ///< at both ends of the arena

/// Memory that a forward gets is full of this byte: 3.4e38 as float32 (1.4e306 as float64, not a
/// number as float16), which nobody may mistake for a result.
inline constexpr std::byte kPoisonByte{0x7F};

/// True when every byte still has the band's value.
bool band_intact(std::span<const std::byte> band);

/// Whether the bands around the allocation [offset, offset + bytes) are whole: the 4 KiB before it,
/// and everything from its end to 4 KiB after its last page. An allocation that does not begin at a
/// page is none of the arena's, and has no bands.
bool bands_intact(std::span<const std::byte> arena, std::uint64_t offset, std::uint64_t bytes);

}  // namespace swage::judge
