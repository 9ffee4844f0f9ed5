#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

// The output memory of a model host on a CUDA device: what torch's caching allocator asks for when
// the pool that swage_model_host/cuda.py makes needs another segment. It hands out addresses and
// never looks at what lies there. Loaded by cuda.py; no part of it decides anything about a
// verdict.

namespace {

constexpr std::size_t kSegment = 2U << 20;
constexpr std::size_t kEndBand = 2U << 20;  // gpu_pool/judge/core/bands.hpp knows it too

/// Thread: any. Life: the process's.
class Arena {
 public:
  void install(std::uint8_t* base, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    next_ = base + kEndBand;
    end_ = base + bytes - kEndBand;
  }
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::size_t rounded = (bytes + kSegment - 1) / kSegment * kSegment;
    auto& free = free_[rounded];
    if (!free.empty()) {
      void* segment = free.back();
      free.pop_back();
      return segment;
    }
    if (rounded < bytes || static_cast<std::size_t>(end_ - next_) < rounded) {
      exhausted_ = true;
      return nullptr;
    }
    std::uint8_t* segment = next_;
    next_ += rounded;
    sizes_[segment] = rounded;
    return segment;
  }
  void give_back(void* segment) {
    const std::lock_guard lock(mutex_);
    if (const auto size = sizes_.find(segment); size != sizes_.end())
      free_[size->second].push_back(segment);
  }
  bool exhausted() { return exhausted_.exchange(false); }

 private:
  std::mutex mutex_;
  std::uint8_t* next_ = nullptr;  // everything from here on was never handed out
  std::uint8_t* end_ = nullptr;
  std::unordered_map<void*, std::size_t> sizes_;
  std::map<std::size_t, std::vector<void*>> free_;
  std::atomic<bool> exhausted_ = false;
};

// Never destroyed: torch frees segments until the very end of the process.
Arena& arena() {
  static auto* const only = new Arena;
  return *only;
}

}  // namespace

// The signatures are torch.cuda.memory.CUDAPluggableAllocator's; the last argument is a stream.
extern "C" {
void swage_cuda_arena_install(void* base, std::size_t bytes) {
  arena().install(static_cast<std::uint8_t*>(base), bytes);
}
void* swage_cuda_arena_take(std::ptrdiff_t bytes, int /*device*/, void* /*stream*/) {
  return arena().take(static_cast<std::size_t>(bytes));
}
void swage_cuda_arena_give_back(void* segment, std::ptrdiff_t /*bytes*/, int /*device*/,
                                void* /*stream*/) {
  arena().give_back(segment);
}
int swage_cuda_arena_exhausted() { return arena().exhausted() ? 1 : 0; }
}
