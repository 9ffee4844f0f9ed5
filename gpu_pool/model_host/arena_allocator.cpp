#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

// The output memory of a model host, behind torch's CPU allocator (design judge.md, section 2).
// Loaded by swage_model_host/arena.py; no part of it decides anything about a verdict.

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kEndBand = 2U << 20;
// gpu_pool/judge/core/bands.hpp knows the same bytes.
constexpr int kBandByte = 0xC7;
constexpr int kPoisonByte = 0x7F;

/// Hands out slots [4 KiB band | payload | rest of its last page | 4 KiB band]. A slot keeps its
/// payload size for ever, and a freed one is given out again for the same size only: so the bands
/// and the rest are never written by anybody who stays inside his own allocation.
/// Thread: any. Life: the process's.
class ArenaAllocator final : public c10::Allocator {
 public:
  void install(void* base, std::size_t bytes, bool poison) {
    poison_ = poison;
    base_ = static_cast<std::uint8_t*>(base);
    next_ = base_ + kEndBand;
    end_ = base_ + bytes - kEndBand;
    fallback_ = c10::GetCPUAllocator();
    c10::SetCPUAllocator(this, 1);
  }
  void use(bool on) { on_ = on; }
  bool exhausted() { return exhausted_.exchange(false); }

  c10::DataPtr allocate(std::size_t bytes) override {
    if (!on_ || bytes == 0) return fallback_->allocate(bytes);
    void* payload = take(bytes);
    return {payload, payload, &ArenaAllocator::give_back, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  static void give_back(void* payload);

  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto& free = free_[bytes];
    if (!free.empty()) {
      void* payload = free.back();
      free.pop_back();
      return payload;
    }
    const std::size_t rounded = (bytes + kPage - 1) / kPage * kPage;
    if (rounded < bytes || static_cast<std::size_t>(end_ - next_) < rounded + 2 * kPage) {
      exhausted_ = true;
      TORCH_CHECK(false, "out of memory: ", bytes, " bytes do not fit into the output arena");
    }
    std::uint8_t* payload = next_ + kPage;
    std::memset(next_, kBandByte, kPage);
    // Fresh pages are zero: a kernel that forgets elements whose result is zero must not be lucky.
    if (poison_) std::memset(payload, kPoisonByte, bytes);
    std::memset(payload + bytes, kBandByte, rounded - bytes + kPage);
    next_ = payload + rounded + kPage;
    sizes_[payload] = bytes;
    return payload;
  }
  void put(void* payload) {
    const std::lock_guard lock(mutex_);
    free_[sizes_.at(payload)].push_back(payload);
  }

  std::mutex mutex_;
  std::uint8_t* base_ = nullptr;
  std::uint8_t* next_ = nullptr;  // everything from here on was never handed out
  std::uint8_t* end_ = nullptr;
  std::unordered_map<void*, std::size_t> sizes_;
  std::map<std::size_t, std::vector<void*>> free_;
  bool poison_ = false;
  std::atomic<bool> on_ = false;
  std::atomic<bool> exhausted_ = false;
  c10::Allocator* fallback_ = nullptr;
};

// Never destroyed: torch frees tensors until the very end of the process.
ArenaAllocator& arena() {
  static auto* const only = new ArenaAllocator;
  return *only;
}

void ArenaAllocator::give_back(void* payload) { arena().put(payload); }

}  // namespace

extern "C" {
void swage_arena_install(void* base, std::size_t bytes, int poison) {
  arena().install(base, bytes, poison != 0);
}
void swage_arena_use(int on) { arena().use(on != 0); }
int swage_arena_exhausted() { return arena().exhausted() ? 1 : 0; }
}
