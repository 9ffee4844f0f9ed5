#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>

#include "common/base/check.hpp"
#include "policy/model/safetensors.hpp"

/// A safetensors header: every range that is taken lies inside the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The length field of most inputs would be nonsense; the rest of the header is the point.
  std::string file(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(size >> (8 * i));
  file.append(reinterpret_cast<const char*>(data), size);
  const std::uint64_t bytes = file.size() + 64;
  if (const auto tensors = swage::policy::parse_safetensors(file, bytes))
    for (const auto& tensor : *tensors)
      swage::check(tensor.offset <= bytes && tensor.bytes <= bytes - tensor.offset,
                   "a tensor leaves its file");
  std::ignore = swage::policy::parse_safetensors(
      std::string_view(reinterpret_cast<const char*>(data), size), size);
  return 0;
}
