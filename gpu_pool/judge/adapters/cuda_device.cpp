#include "gpu_pool/judge/adapters/cuda_device.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <tuple>

#include "gpu_pool/judge/adapters/cuda_check.hpp"
#include "gpu_pool/judge/adapters/cuda_kernels.hpp"
#include "gpu_pool/judge/adapters/cuda_memory.hpp"
#include "gpu_pool/judge/adapters/nvml.hpp"
#include "gpu_pool/judge/adapters/pinned_pool.hpp"
#include "gpu_pool/judge/adapters/raw_clock.hpp"
#include "gpu_pool/judge/core/bands.hpp"
#include "gpu_pool/judge/core/sampling.hpp"

namespace swage::judge {
namespace {

constexpr int kDevice = 0;
constexpr std::uint32_t kMostSamples = 1U << 17;
constexpr std::uint64_t kSentinelLimitNs = 20'000'000'000;  // far beyond what any write takes
constexpr std::uint64_t kArenaShare = 12;  // of the memory; four hosts of two tasks have arenas
constexpr double kMostProbeOfAWellDeviceUs = 5000;

class CudaDevice final : public Device {
 public:
  CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override;

  DeviceFacts facts() override;
  std::uint64_t arena_bytes(std::uint64_t usual) const override {
    const std::uint64_t share = properties_.totalGlobalMem / kArenaShare;
    return std::max<std::uint64_t>(usual, share) / kCudaGranularity * kCudaGranularity;
  }
  Result<DeviceMemory, std::string> make(const char* /*name*/, std::size_t bytes) override {
    return make_cuda_memory(kDevice, bytes);
  }
  Result<DeviceMemory, std::string> open(Descriptor descriptor, std::size_t bytes) override {
    return open_cuda_memory(kDevice, std::move(descriptor), bytes);
  }
  /// A descriptor carries no rights: hosts map it read-only because our program in them does, the
  /// only one that ever holds it, and the driver's functions are refused to a candidate's library.
  Result<void, std::string> seal(DeviceMemory& /*memory*/) override { return {}; }
  void prepare_arena(DeviceMemory& arena, bool poison) override {
    if (poison) set(arena.bytes(), kPoisonByte);
  }

  HostView read(std::span<const std::byte> range) override;
  void write(std::span<std::byte> range,
             const std::function<void(std::span<std::byte>)>& fn) override;
  void set(std::span<std::byte> range, std::byte value) override;
  bool fill(std::span<std::byte> range, const Recipe& recipe, ElementType type,
            std::uint64_t key) override;
  std::vector<std::uint32_t> sample(std::span<const std::byte> range, std::uint64_t seed,
                                    std::uint32_t count) override;
  /// torch's caching allocator leaves no room between two tensors: only the arena's ends are
  /// guarded.
  bool bands_intact(std::span<const std::byte> /*arena*/, const Output& /*output*/) override {
    return true;
  }

  double watch(const std::function<void()>& work) override;
  double probe_us() override;
  void flush() override { set({flush_, flush_bytes_}, std::byte{1}); }
  bool rings_running_hosts() const override { return true; }
  double warm_up_us() const override { return 200'000; }
  std::optional<double> clock_mhz() override;
  std::string slowdown() override { return nvml_ ? nvml_->slowdown() : ""; }
  std::string trouble() override;

 private:
  void wait() { cuda_check(cudaStreamSynchronize(work_), "the judge's work on the device"); }

  cudaDeviceProp properties_{};
  cudaStream_t work_ = nullptr;
  cudaStream_t watching_ = nullptr;
  std::byte* flush_ = nullptr;
  std::size_t flush_bytes_ = 0;
  std::uint32_t* samples_ = nullptr;       // on the device
  std::uint32_t* samples_here_ = nullptr;  // pinned
  std::uint64_t* clock_ = nullptr;         // pinned
  SentinelWords* sentinel_ = nullptr;      // pinned
  PinnedPool pinned_;
  std::unique_ptr<Nvml> nvml_ = Nvml::open();
  std::optional<std::uint64_t> errors_before_;
};

template <class T>
T* pinned(std::size_t count) {
  void* made = nullptr;
  cuda_check(cudaHostAlloc(&made, count * sizeof(T), cudaHostAllocDefault), "pinned memory");
  std::memset(made, 0, count * sizeof(T));
  return static_cast<T*>(made);
}

template <class T>
T* on_device(std::size_t count) {
  void* made = nullptr;
  cuda_check(cudaMalloc(&made, count * sizeof(T)), "device memory");
  return static_cast<T*>(made);
}

CudaDevice::CudaDevice() {
  cuda_check(cudaGetDeviceProperties(&properties_, kDevice), "the device's properties");
  cuda_check(cudaStreamCreateWithFlags(&work_, cudaStreamNonBlocking), "a stream");
  cuda_check(cudaStreamCreateWithFlags(&watching_, cudaStreamNonBlocking), "a stream");
  flush_bytes_ = 2 * static_cast<std::size_t>(std::max(properties_.l2CacheSize, 1 << 20));
  flush_ = on_device<std::byte>(flush_bytes_);
  samples_ = on_device<std::uint32_t>(kMostSamples);
  samples_here_ = pinned<std::uint32_t>(kMostSamples);
  clock_ = pinned<std::uint64_t>(2);
  sentinel_ = pinned<SentinelWords>(1);
  if (nvml_) errors_before_ = nvml_->memory_errors();
  // Each kernel is loaded now, not inside a window.
  probe_us();
  std::ignore = sample({flush_, flush_bytes_}, 0, kMostSamples);
  std::ignore = clock_mhz();
  watch([] {});
}

CudaDevice::~CudaDevice() {
  cudaFree(flush_);
  cudaFree(samples_);
  cudaFreeHost(samples_here_);
  cudaFreeHost(clock_);
  cudaFreeHost(sentinel_);
  cudaStreamDestroy(work_);
  cudaStreamDestroy(watching_);
}

DeviceFacts CudaDevice::facts() {
  DeviceFacts out{"cuda", properties_.name, {}, {}};
  if (nvml_) {
    out.uuid = nvml_->uuid();
    out.driver = nvml_->driver_version();
  }
  return out;
}

HostView CudaDevice::read(std::span<const std::byte> range) {
  if (range.empty()) return {};
  auto copy = pinned_.take(range.size());
  cuda_check(cudaMemcpyAsync(copy.get(), range.data(), range.size(), cudaMemcpyDeviceToHost, work_),
             "reading device memory");
  wait();
  return {{copy.get(), range.size()}, copy};
}

void CudaDevice::write(std::span<std::byte> range,
                       const std::function<void(std::span<std::byte>)>& fn) {
  if (range.empty()) return;
  const auto content = pinned_.take(range.size());
  fn({content.get(), range.size()});
  cuda_check(
      cudaMemcpyAsync(range.data(), content.get(), range.size(), cudaMemcpyHostToDevice, work_),
      "writing device memory");
  wait();
}

void CudaDevice::set(std::span<std::byte> range, std::byte value) {
  if (range.empty()) return;
  cuda_check(cudaMemsetAsync(range.data(), std::to_integer<int>(value), range.size(), work_),
             "setting device memory");
  wait();
}

bool CudaDevice::fill(std::span<std::byte> range, const Recipe& recipe, ElementType type,
                      std::uint64_t key) {
  const bool known = recipe.law == Law::normal || recipe.law == Law::uniform;
  if (type != ElementType::float32 || !known || range.empty()) return false;
  launch_fill(reinterpret_cast<float*>(range.data()), range.size() / sizeof(float), recipe, key,
              work_);
  cuda_check(cudaGetLastError(), "filling an input");
  wait();
  return true;
}

std::vector<std::uint32_t> CudaDevice::sample(std::span<const std::byte> range, std::uint64_t seed,
                                              std::uint32_t count) {
  if (range.size() < kSampleBytes) {
    std::vector<std::uint32_t> out(1);
    const HostView all = read(range);
    std::memcpy(out.data(), all.bytes.data(), all.bytes.size());
    return out;
  }
  count = std::min(count, kMostSamples);
  launch_sample(range.data(), range.size(), seed, count, samples_, work_);
  cuda_check(cudaMemcpyAsync(samples_here_, samples_, count * sizeof(std::uint32_t),
                             cudaMemcpyDeviceToHost, work_),
             "reading samples");
  wait();
  return {samples_here_, samples_here_ + count};
}

double CudaDevice::watch(const std::function<void()>& work) {
  *sentinel_ = {};
  launch_sentinel(sentinel_, kSentinelLimitNs, watching_);
  cuda_check(cudaGetLastError(), "starting the sentinel");
  const std::atomic_ref<std::uint32_t> started(sentinel_->started);
  while (started.load(std::memory_order_acquire) == 0 &&
         cudaStreamQuery(watching_) == cudaErrorNotReady) {
  }
  work();
  std::atomic_ref(sentinel_->stop).store(1, std::memory_order_release);
  cuda_check(cudaStreamSynchronize(watching_), "the sentinel");
  return static_cast<double>(sentinel_->gap_ns) / 1e3;
}

double CudaDevice::probe_us() {
  const double begin = raw_ns();
  launch_empty(work_);
  wait();
  return (raw_ns() - begin) / 1e3;
}

std::optional<double> CudaDevice::clock_mhz() {
  launch_clock(clock_, work_);
  wait();
  if (clock_[1] == 0) return std::nullopt;
  return 1e3 * static_cast<double>(clock_[0]) / static_cast<double>(clock_[1]);
}

std::string CudaDevice::trouble() {
  if (nvml_ && nvml_->memory_errors() != errors_before_)
    return "uncorrected memory errors were counted";
  double least = probe_us();
  for (int i = 0; i < 3; ++i) least = std::min(least, probe_us());
  if (least > kMostProbeOfAWellDeviceUs) return "an empty kernel takes milliseconds";
  return {};
}

}  // namespace

Result<std::unique_ptr<Device>, std::string> make_cuda_device() {
  int count = 0;
  if (const auto code = cudaGetDeviceCount(&count); code != cudaSuccess || count == 0)
    return tl::unexpected(std::string("there is no CUDA device: ") + cudaGetErrorString(code));
  // Waiting in a loop: a wake-up by interrupt would be part of every window.
  cuda_check(cudaSetDeviceFlags(cudaDeviceScheduleSpin), "the way to wait");
  cuda_check(cudaSetDevice(kDevice), "choosing the device");
  return std::make_unique<CudaDevice>();
}

}  // namespace swage::judge
