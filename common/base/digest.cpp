#include "common/base/digest.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <array>

#include "common/base/check.hpp"

namespace swage {
namespace {

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) ? (value >> 1) ^ 0x82F63B78U : value >> 1;
    table[i] = value;
  }
  return table;
}
constexpr auto kCrcTable = make_crc_table();

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto u = static_cast<unsigned char>(c);
    out.push_back(kDigits[u >> 4]);
    out.push_back(kDigits[u & 15]);
  }
  return out;
}

std::string from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return {};
  std::string out;
  out.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = nibble(hex[i]);
    const int low = nibble(hex[i + 1]);
    if (high < 0 || low < 0) return {};
    out.push_back(static_cast<char>(high * 16 + low));
  }
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 sum;
  sum.update(bytes);
  return sum.hex();
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::array<unsigned char, 32> out{};
  unsigned int size = 0;
  const auto* done =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data(), &size);
  check(done != nullptr && size == out.size(), "HMAC-SHA-256 is always available");
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

bool constant_time_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_bytes(std::size_t count) {
  std::string out(count, '\0');
  std::size_t have = 0;
  while (have < count) {
    const auto got = getrandom(out.data() + have, count - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return out;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) {
  std::uint32_t crc = ~seed;
  for (const char c : bytes)
    crc = kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

std::uint64_t fnv1a(std::span<const std::uint32_t> ids, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const std::uint32_t id : ids) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash ^= (id >> shift) & 0xFF;
      hash *= 0x100000001b3ULL;
    }
  }
  return hash;
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  check(context_ != nullptr, "no memory for a digest");
  check(EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr) == 1,
        "SHA-256 is always available");
}

Sha256::~Sha256() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void Sha256::update(std::string_view bytes) {
  check(EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size()) == 1,
        "SHA-256 takes any bytes");
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> out{};
  unsigned int size = 0;
  check(EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), out.data(), &size) == 1,
        "a digest is read once");
  return to_hex({reinterpret_cast<const char*>(out.data()), size});
}

}  // namespace swage
