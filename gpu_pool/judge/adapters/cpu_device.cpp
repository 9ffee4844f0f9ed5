#include "gpu_pool/judge/adapters/cpu_device.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "common/base/files.hpp"
#include "gpu_pool/judge/adapters/shared_memory.hpp"
#include "gpu_pool/judge/core/bands.hpp"
#include "gpu_pool/judge/core/sampling.hpp"

namespace swage::judge {
namespace {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(Room& room) : room_(room) {}

  DeviceFacts facts() override {
    DeviceFacts out{"cpu", {}, {}, {}};
    utsname kernel{};
    ::uname(&kernel);
    out.driver = kernel.release;
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);)
      if (line.starts_with("model name")) {
        out.name = line.substr(line.find(':') + 2);
        break;
      }
    if (const auto id = read_file("/etc/machine-id")) out.uuid = id->substr(0, 32);
    return out;
  }
  std::uint64_t arena_bytes(std::uint64_t usual) const override { return usual; }

  Result<DeviceMemory, std::string> make(const char* name, std::size_t bytes) override {
    return owned(SharedMemory::make(name, bytes));
  }
  Result<DeviceMemory, std::string> open(Descriptor descriptor, std::size_t bytes) override {
    return owned(SharedMemory::open(std::move(descriptor), bytes));
  }
  Result<void, std::string> seal(DeviceMemory& memory) override {
    return std::static_pointer_cast<SharedMemory>(memory.owner())->seal_against_new_writers();
  }
  /// The host's allocator writes the poison, when it hands memory out for the first time.
  void prepare_arena(DeviceMemory& /*arena*/, bool /*poison*/) override {}

  HostView read(std::span<const std::byte> range) override { return {range, nullptr}; }
  void write(std::span<std::byte> range,
             const std::function<void(std::span<std::byte>)>& fn) override {
    fn(range);
  }
  void set(std::span<std::byte> range, std::byte value) override {
    std::ranges::fill(range, value);
  }
  bool fill(std::span<std::byte> /*range*/, const Recipe& /*recipe*/, ElementType /*type*/,
            std::uint64_t /*key*/) override {
    return false;
  }
  std::vector<std::uint32_t> sample(std::span<const std::byte> range, std::uint64_t seed,
                                    std::uint32_t count) override {
    std::vector<std::uint32_t> out(range.size() < kSampleBytes ? 1 : count);
    if (range.size() < kSampleBytes) std::memcpy(out.data(), range.data(), range.size());
    for (std::uint32_t i = 0; i < count && range.size() >= kSampleBytes; ++i)
      std::memcpy(&out[i], range.data() + sample_position(seed, i, range.size()), kSampleBytes);
    return out;
  }
  bool bands_intact(std::span<const std::byte> arena, const Output& output) override {
    return judge::bands_intact(arena, output.storage_offset, output.storage_bytes);
  }

  /// Hosts are stopped while the judge writes: nobody else can have been at work.
  double watch(const std::function<void()>& work) override {
    work();
    return 0;
  }
  double probe_us() override { return 0; }
  void flush() override { room_.flush(); }
  bool rings_running_hosts() const override { return false; }

  double warm_up_us() const override { return 0; }
  std::optional<double> clock_mhz() override { return std::nullopt; }
  std::string slowdown() override { return {}; }
  std::string trouble() override { return {}; }

 private:
  static Result<DeviceMemory, std::string> owned(Result<SharedMemory, std::string> made) {
    if (!made) return tl::unexpected(made.error());
    auto owner = std::make_shared<SharedMemory>(std::move(*made));
    const auto range = owner->bytes();
    const int descriptor = owner->descriptor().get();
    return DeviceMemory(descriptor, range, std::move(owner));
  }

  Room& room_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(Room& room) { return std::make_unique<CpuDevice>(room); }

}  // namespace swage::judge
