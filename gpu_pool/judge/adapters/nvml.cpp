#include "gpu_pool/judge/adapters/nvml.hpp"

#include <dlfcn.h>
#include <nvml.h>

#include <array>
#include <utility>

namespace swage::judge {

struct Nvml::Library {
  void* handle = nullptr;
  nvmlDevice_t device{};
  decltype(&nvmlShutdown) shutdown = nullptr;
  decltype(&nvmlSystemGetDriverVersion) driver_version = nullptr;
  decltype(&nvmlDeviceGetUUID) uuid = nullptr;
  decltype(&nvmlDeviceGetTotalEccErrors) errors = nullptr;
  decltype(&nvmlDeviceGetCurrentClocksThrottleReasons) reasons = nullptr;
};

namespace {

template <class Fn>
bool find(void* handle, const char* name, Fn& fn) {
  fn = reinterpret_cast<Fn>(::dlsym(handle, name));
  return fn != nullptr;
}

}  // namespace

std::unique_ptr<Nvml> Nvml::open() {
  auto library = std::make_unique<Library>();
  library->handle = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library->handle == nullptr) return nullptr;
  decltype(&nvmlInit_v2) init = nullptr;
  decltype(&nvmlDeviceGetHandleByIndex_v2) by_index = nullptr;
  const bool all =
      find(library->handle, "nvmlInit_v2", init) &&
      find(library->handle, "nvmlDeviceGetHandleByIndex_v2", by_index) &&
      find(library->handle, "nvmlShutdown", library->shutdown) &&
      find(library->handle, "nvmlSystemGetDriverVersion", library->driver_version) &&
      find(library->handle, "nvmlDeviceGetUUID", library->uuid) &&
      find(library->handle, "nvmlDeviceGetTotalEccErrors", library->errors) &&
      find(library->handle, "nvmlDeviceGetCurrentClocksThrottleReasons", library->reasons);
  if (!all || init() != NVML_SUCCESS) {
    ::dlclose(library->handle);
    return nullptr;
  }
  if (by_index(0, &library->device) != NVML_SUCCESS) {
    library->shutdown();
    ::dlclose(library->handle);
    return nullptr;
  }
  return std::unique_ptr<Nvml>(new Nvml(std::move(library)));
}

Nvml::Nvml(std::unique_ptr<Library> library) : library_(std::move(library)) {}

Nvml::~Nvml() {
  library_->shutdown();
  ::dlclose(library_->handle);
}

std::string Nvml::driver_version() const {
  std::array<char, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE> text{};
  const bool known = library_->driver_version(text.data(), text.size()) == NVML_SUCCESS;
  return known ? text.data() : "";
}

std::string Nvml::uuid() const {
  std::array<char, NVML_DEVICE_UUID_V2_BUFFER_SIZE> text{};
  const bool known = library_->uuid(library_->device, text.data(), text.size()) == NVML_SUCCESS;
  return known ? text.data() : "";
}

std::optional<std::uint64_t> Nvml::memory_errors() const {
  unsigned long long count = 0;
  const bool known = library_->errors(library_->device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                      NVML_VOLATILE_ECC, &count) == NVML_SUCCESS;
  return known ? std::optional<std::uint64_t>(count) : std::nullopt;
}

std::string Nvml::slowdown() const {
  unsigned long long reasons = 0;
  if (library_->reasons(library_->device, &reasons) != NVML_SUCCESS) return {};
  if ((reasons & nvmlClocksThrottleReasonHwThermalSlowdown) != 0)
    return "hardware thermal slowdown";
  if ((reasons & nvmlClocksThrottleReasonHwPowerBrakeSlowdown) != 0) return "power brake";
  if ((reasons & nvmlClocksThrottleReasonHwSlowdown) != 0) return "hardware slowdown";
  if ((reasons & nvmlClocksThrottleReasonSwThermalSlowdown) != 0) return "thermal slowdown";
  return {};
}

}  // namespace swage::judge
