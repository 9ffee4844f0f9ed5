#include "gpu_pool/judge/adapters/pinned_pool.hpp"

#include <algorithm>

#include "gpu_pool/judge/adapters/cuda_check.hpp"

namespace swage::judge {
namespace {

constexpr std::size_t kStep = 1UL << 20;

}  // namespace

PinnedPool::~PinnedPool() {
  for (const Piece& piece : free_) cudaFreeHost(piece.data);
}

std::shared_ptr<std::byte> PinnedPool::take(std::size_t bytes) {
  Piece piece{nullptr, (bytes + kStep - 1) / kStep * kStep};
  const auto fits = [&](const Piece& free) { return free.bytes >= bytes; };
  auto best = std::ranges::find_if(free_, fits);
  for (auto at = best; at != free_.end(); ++at)
    if (fits(*at) && at->bytes < best->bytes) best = at;
  if (best != free_.end()) {
    piece = *best;
    free_.erase(best);
  } else {
    void* made = nullptr;
    cuda_check(cudaHostAlloc(&made, piece.bytes, cudaHostAllocDefault), "pinned memory");
    piece.data = static_cast<std::byte*>(made);
  }
  return {piece.data, [this, piece](std::byte*) { free_.push_back(piece); }};
}

}  // namespace swage::judge
