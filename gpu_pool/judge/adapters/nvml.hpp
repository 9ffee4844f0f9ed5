#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace swage::judge {

/// What the driver's management library says of the first GPU. Absent where it cannot say.
class Nvml {
 public:
  /// Null: the library is not here, or does not know the GPU.
  static std::unique_ptr<Nvml> open();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;
  std::string uuid() const;
  /// Uncorrected memory errors since the driver was loaded.
  std::optional<std::uint64_t> memory_errors() const;
  /// Hardware or heat slows the GPU down; empty if not.
  std::string slowdown() const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace swage::judge
