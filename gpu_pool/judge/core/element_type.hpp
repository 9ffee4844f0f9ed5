#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace swage::judge {

/// Element types that may cross the process boundary. The codes are those of
/// gpu_pool/model_host/swage_model_host/dtypes.py.
enum class ElementType : std::uint8_t {
  float32 = 1,
  float64 = 2,
  float16 = 3,
  bfloat16 = 4,
  int64 = 5,
  int32 = 6,
  int16 = 7,
  int8 = 8,
  uint8 = 9,
  boolean = 10,
};

/// Bytes of one element.
constexpr std::size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::float64:
    case ElementType::int64:
      return 8;
    case ElementType::float32:
    case ElementType::int32:
      return 4;
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::int16:
      return 2;
    case ElementType::int8:
    case ElementType::uint8:
    case ElementType::boolean:
      return 1;
  }
  return 0;
}

/// float16 to float64 and bfloat16.
constexpr bool is_floating(ElementType type) { return type <= ElementType::bfloat16; }

/// torch's name without the prefix: `float32`, `bool`. Nothing for an unknown name or code.
std::optional<ElementType> element_type_of(std::string_view name);
std::optional<ElementType> element_type_of(std::uint8_t code);
std::string_view name_of(ElementType type);

/// The element at `data` as a double (int64 beyond 2^53 loses its low bits).
double load_element(ElementType type, const void* data);
/// Writes `value`, rounded to nearest, ties to even, to the element at `data`.
void store_element(ElementType type, double value, void* data);

/// IEEE half and bfloat16, by bits.
float from_half(std::uint16_t bits);
std::uint16_t to_half(float value);
float from_bfloat16(std::uint16_t bits);
std::uint16_t to_bfloat16(float value);

}  // namespace swage::judge
