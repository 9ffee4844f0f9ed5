#include "gpu_pool/judge/core/element_type.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace swage::judge {
namespace {

constexpr std::array<std::pair<ElementType, std::string_view>, 10> kNames{{
    {ElementType::float32, "float32"},
    {ElementType::float64, "float64"},
    {ElementType::float16, "float16"},
    {ElementType::bfloat16, "bfloat16"},
    {ElementType::int64, "int64"},
    {ElementType::int32, "int32"},
    {ElementType::int16, "int16"},
    {ElementType::int8, "int8"},
    {ElementType::uint8, "uint8"},
    {ElementType::boolean, "bool"},
}};

template <class T>
double load_as(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return static_cast<double>(value);
}

template <class T>
void store_as(T value, void* data) {
  std::memcpy(data, &value, sizeof value);
}

}  // namespace

std::optional<ElementType> element_type_of(std::string_view name) {
  for (const auto& [type, text] : kNames)
    if (text == name) return type;
  return std::nullopt;
}

std::optional<ElementType> element_type_of(std::uint8_t code) {
  if (code < 1 || code > kNames.size()) return std::nullopt;
  return static_cast<ElementType>(code);
}

std::string_view name_of(ElementType type) {
  return kNames.at(static_cast<std::size_t>(type) - 1).second;
}

float from_half(std::uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
std::uint16_t to_half(float value) {
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}
float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return 0x7FC0;
  const std::uint32_t rounding = 0x7FFFU + ((bits >> 16) & 1U);  // ties to even
  return static_cast<std::uint16_t>((bits + rounding) >> 16);
}

double load_element(ElementType type, const void* data) {
  switch (type) {
    case ElementType::float32:
      return load_as<float>(data);
    case ElementType::float64:
      return load_as<double>(data);
    case ElementType::float16:
    case ElementType::bfloat16: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, data, sizeof bits);
      return type == ElementType::float16 ? from_half(bits) : from_bfloat16(bits);
    }
    case ElementType::int64:
      return load_as<std::int64_t>(data);
    case ElementType::int32:
      return load_as<std::int32_t>(data);
    case ElementType::int16:
      return load_as<std::int16_t>(data);
    case ElementType::int8:
      return load_as<std::int8_t>(data);
    case ElementType::uint8:
    case ElementType::boolean:
      return load_as<std::uint8_t>(data);
  }
  return 0;
}

void store_element(ElementType type, double value, void* data) {
  const auto whole = [&] { return static_cast<std::int64_t>(std::nearbyint(value)); };
  switch (type) {
    case ElementType::float32:
      return store_as(static_cast<float>(value), data);
    case ElementType::float64:
      return store_as(value, data);
    case ElementType::float16:
      return store_as(to_half(static_cast<float>(value)), data);
    case ElementType::bfloat16:
      return store_as(to_bfloat16(static_cast<float>(value)), data);
    case ElementType::int64:
      return store_as(whole(), data);
    case ElementType::int32:
      return store_as(static_cast<std::int32_t>(whole()), data);
    case ElementType::int16:
      return store_as(static_cast<std::int16_t>(whole()), data);
    case ElementType::int8:
      return store_as(static_cast<std::int8_t>(whole()), data);
    case ElementType::uint8:
      return store_as(static_cast<std::uint8_t>(whole()), data);
    case ElementType::boolean:
      return store_as(static_cast<std::uint8_t>(value != 0), data);
  }
}

}  // namespace swage::judge
