#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpu_pool/judge/core/recipe.hpp"

namespace swage::judge {

/// What the judge itself runs on the GPU. Every function only gives work to the stream; errors show
/// in cudaGetLastError().

/// Does nothing, and takes what the way to the device and back takes.
void launch_empty(cudaStream_t stream);

/// out[i] = the piece at sample_position(seed, i, bytes) of `range`; bytes >= kSampleBytes.
void launch_sample(const std::byte* range, std::uint64_t bytes, std::uint64_t seed,
                   std::uint32_t count, std::uint32_t* out, cudaStream_t stream);

/// Fills `count` floats by a normal or uniform recipe, from the words that fill() makes them of.
void launch_fill(float* out, std::uint64_t count, const Recipe& recipe, std::uint64_t key,
                 cudaStream_t stream);

/// Shared with the sentinel, in pinned memory of the processor.
struct SentinelWords {
  std::uint32_t stop = 0;     ///< judge
  std::uint32_t started = 0;  ///< sentinel
  std::uint64_t gap_ns = 0;   ///< sentinel: longest time between two looks at the timer
};
/// One thread that looks at the GPU's timer until it is told to stop, or `limit_ns` have gone by.
void launch_sentinel(SentinelWords* words, std::uint64_t limit_ns, cudaStream_t stream);

/// Counts the clock for 20 us of the timer: out[0] cycles, out[1] nanoseconds.
void launch_clock(std::uint64_t* out, cudaStream_t stream);

}  // namespace swage::judge
