#include "gpu_pool/judge/adapters/cuda_kernels.hpp"
#include "gpu_pool/judge/core/draws.hpp"
#include "gpu_pool/judge/core/sampling.hpp"

namespace swage::judge {
namespace {

constexpr std::uint64_t kClockNs = 20000;

__device__ std::uint64_t timer_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// The next value of the timer, which may tick coarsely.
__device__ std::uint64_t next_tick_ns() {
  const std::uint64_t before = timer_ns();
  std::uint64_t now = before;
  while (now == before) now = timer_ns();
  return now;
}

__global__ void nothing() {}

/// Pieces lie at any byte.
__global__ void sample(const unsigned char* range, std::uint64_t bytes, std::uint64_t seed,
                       std::uint32_t count, std::uint32_t* out) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const unsigned char* at = range + sample_position(seed, i, bytes);
  std::uint32_t word = 0;
  for (int byte = 3; byte >= 0; --byte) word = word << 8 | at[byte];
  out[i] = word;
}

/// One lane of a block of kFillBlock elements a thread.
__global__ void fill(float* out, std::uint64_t count, bool normal, float a, float b,
                     std::uint64_t key) {
  const std::uint64_t counter = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x;
  const std::uint64_t first = counter / kLanes * kFillBlock + counter % kLanes;
  if (first >= count) return;
  const PhiloxWords drawn = philox_words(key, counter);
  float values[4];
  for (int i = 0; i < 2; ++i) {
    if (normal) {
      const float radius = sqrtf(squared_radius(drawn.words[i])) * b;
      const Direction to = direction(drawn.words[i + 2]);
      values[i] = a + radius * to.sine;
      values[i + 2] = a + radius * to.cosine;
    } else {
      values[i] = uniform_value(drawn.words[i], a, b);
      values[i + 2] = uniform_value(drawn.words[i + 2], a, b);
    }
  }
  for (int i = 0; i < 4; ++i)
    if (first + i * kLanes < count) out[first + i * kLanes] = values[i];
}

__global__ void watch(volatile SentinelWords* words, std::uint64_t limit_ns) {
  const std::uint64_t begin = timer_ns();
  std::uint64_t last = begin;
  std::uint64_t gap = 0;
  words->started = 1;
  while (words->stop == 0 && last - begin < limit_ns) {
    const std::uint64_t now = timer_ns();
    gap = max(gap, now - last);
    last = now;
  }
  words->gap_ns = gap;
}

__global__ void count_cycles(std::uint64_t* out) {
  const std::uint64_t begin_ns = next_tick_ns();
  const long long begin = clock64();
  while (timer_ns() - begin_ns < kClockNs) {
  }
  const std::uint64_t end_ns = next_tick_ns();
  out[0] = static_cast<std::uint64_t>(clock64() - begin);
  out[1] = end_ns - begin_ns;
}

}  // namespace

void launch_empty(cudaStream_t stream) { nothing<<<1, 1, 0, stream>>>(); }

void launch_sample(const std::byte* range, std::uint64_t bytes, std::uint64_t seed,
                   std::uint32_t count, std::uint32_t* out, cudaStream_t stream) {
  constexpr std::uint32_t kThreads = 256;
  sample<<<(count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
      reinterpret_cast<const unsigned char*>(range), bytes, seed, count, out);
}

void launch_fill(float* out, std::uint64_t count, const Recipe& recipe, std::uint64_t key,
                 cudaStream_t stream) {
  constexpr std::uint64_t kThreads = 256;
  const std::uint64_t lanes = (count + kFillBlock - 1) / kFillBlock * kLanes;
  fill<<<static_cast<unsigned>(lanes / kThreads), kThreads, 0, stream>>>(
      out, count, recipe.law == Law::normal, static_cast<float>(recipe.a),
      static_cast<float>(recipe.b), key);
}

void launch_sentinel(SentinelWords* words, std::uint64_t limit_ns, cudaStream_t stream) {
  watch<<<1, 1, 0, stream>>>(words, limit_ns);
}

void launch_clock(std::uint64_t* out, cudaStream_t stream) {
  count_cycles<<<1, 1, 0, stream>>>(out);
}

}  // namespace swage::judge
