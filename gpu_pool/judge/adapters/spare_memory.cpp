#include "gpu_pool/judge/adapters/spare_memory.hpp"

#include <fstream>
#include <limits>
#include <string>

namespace swage::judge {

std::uint64_t spare_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::string unit;
  std::uint64_t kibibytes = 0;
  while (file >> name >> kibibytes && std::getline(file, unit))
    if (name == "MemAvailable:") return kibibytes / 5 * 4 << 10U;
  return std::numeric_limits<std::uint64_t>::max() / 4;  // nobody knows: no limit of ours
}

}  // namespace swage::judge
