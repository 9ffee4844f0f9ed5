#include "sandbox/core/base64.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>

namespace swage::sandbox {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> make_values() {
  std::array<std::int8_t, 256> out{};
  out.fill(-1);
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    out[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
  return out;
}
constexpr auto kValues = make_values();

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const auto count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8U | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      out += k <= count ? kDigits[group >> (18U - 6U * k) & 63U] : '=';
  }
  return out;
}

std::string base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) throw std::invalid_argument("base64: length");
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool pad = i >= text.size() - padding;
    const auto value = kValues[static_cast<unsigned char>(text[i])];
    if (!pad && value < 0) throw std::invalid_argument("base64: digit");
    group = group << 6U | (pad ? 0U : static_cast<std::uint32_t>(value));
    if (i % 4 == 3)
      for (unsigned shift : {16U, 8U, 0U}) out += static_cast<char>(group >> shift & 0xffU);
  }
  out.resize(out.size() - padding);
  return out;
}

}  // namespace swage::sandbox
