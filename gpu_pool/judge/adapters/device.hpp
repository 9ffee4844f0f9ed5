#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/descriptor.hpp"
#include "common/base/result.hpp"
#include "gpu_pool/judge/adapters/room.hpp"
#include "gpu_pool/judge/core/call_page.hpp"
#include "gpu_pool/judge/core/recipe.hpp"

namespace swage::judge {

/// Memory of the device that the judge owns and hosts map by its descriptor. It is unmapped here
/// when the last copy goes.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(int descriptor, std::span<std::byte> range, std::shared_ptr<void> owner)
      : descriptor_(descriptor), range_(range), owner_(std::move(owner)) {}

  /// Addresses as the device sees them: what lies there is read and written through Device alone.
  std::span<std::byte> bytes() const { return range_; }
  std::size_t size() const { return range_.size(); }
  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return !range_.empty(); }
  const std::shared_ptr<void>& owner() const { return owner_; }

 private:
  int descriptor_ = -1;  // the owner's
  std::span<std::byte> range_;
  std::shared_ptr<void> owner_;
};

/// A piece of device memory where the judge's processor can read it. Keep it as long as its bytes
/// are looked at.
struct HostView {
  std::span<const std::byte> bytes;
  std::shared_ptr<void> copy;  ///< empty where the device's memory is the processor's
};

/// What a device is, for the record.
struct DeviceFacts {
  std::string kind;  ///< `cpu` or `cuda`
  std::string name;
  std::string uuid;
  std::string driver;
};

/// The kind of device that kernels run on, as far as it makes a difference to the judge: memory
/// that hosts share, how the window of a call is opened and closed, and what disturbs it. Flow and
/// decisions are the same for all kinds and stand elsewhere. Thread: the judge's only. Life: longer
/// than the memory made by it.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceFacts facts() = 0;
  /// How much memory one host gets for its results: `usual`, or a share of what there is.
  virtual std::uint64_t arena_bytes(std::uint64_t usual) const = 0;

  /// Memory of `bytes` > 0. `name` is for people who look at the process.
  virtual Result<DeviceMemory, std::string> make(const char* name, std::size_t bytes) = 0;
  /// The memory of another judge behind its descriptor; its true size must be at least `bytes`.
  virtual Result<DeviceMemory, std::string> open(Descriptor descriptor, std::size_t bytes) = 0;
  /// From here on no host that maps it can write it.
  virtual Result<void, std::string> seal(DeviceMemory& memory) = 0;
  /// Prepares new memory for the allocations of a host: with `poison`, nothing in it looks like a
  /// result.
  virtual void prepare_arena(DeviceMemory& arena, bool poison) = 0;

  virtual HostView read(std::span<const std::byte> range) = 0;
  /// Gives fn memory of the range's size whose content is undefined, and makes what it leaves there
  /// the range's content.
  virtual void write(std::span<std::byte> range,
                     const std::function<void(std::span<std::byte>)>& fn) = 0;
  virtual void set(std::span<std::byte> range, std::byte value) = 0;
  /// Fills a tensor by its recipe without the processor. False: nothing was done, this kind of
  /// device cannot for this recipe, and it is to be written().
  virtual bool fill(std::span<std::byte> range, const Recipe& recipe, ElementType type,
                    std::uint64_t key) = 0;
  /// `count` pieces at sample_position(seed, i); of a range too small for one, its bytes.
  virtual std::vector<std::uint32_t> sample(std::span<const std::byte> range, std::uint64_t seed,
                                            std::uint32_t count) = 0;
  /// Whether nobody wrote around the allocation, where the host's allocator leaves room for that.
  virtual bool bands_intact(std::span<const std::byte> arena, const Output& output) = 0;

  /// Runs `work`, which writes to the device, and waits until all of it has been done. Returns the
  /// longest time, in us, for which the device did something else meanwhile.
  virtual double watch(const std::function<void()>& work) = 0;
  /// What an empty piece of work takes now, in us.
  virtual double probe_us() = 0;
  /// Drives everything else out of the caches that kernels use.
  virtual void flush() = 0;

  /// True: a host that is to be called runs and waits for the ring before the window opens, and the
  /// window closes when sample() has read random elements of the results: the device cannot be
  /// doing anything for them any more. False: it is stopped, the window opens when it is let go on,
  /// and closes when it is stopped again.
  virtual bool rings_running_hosts() const = 0;

  /// For how long kernels must have run before their times mean something, in us.
  virtual double warm_up_us() const = 0;
  /// The clock that kernels run at now, where it may change from one call to the next.
  virtual std::optional<double> clock_mhz() = 0;
  /// Why the device runs slower than it could; empty if it does not.
  virtual std::string slowdown() = 0;
  /// Why nothing more should be measured on this device; empty if it is well. To be asked when no
  /// host of a candidate is left.
  virtual std::string trouble() = 0;
};

/// Makes the device of a kind. `room` outlives it. Errors: a sentence for people.
Result<std::unique_ptr<Device>, std::string> make_device(std::string_view kind, Room& room);

}  // namespace swage::judge
