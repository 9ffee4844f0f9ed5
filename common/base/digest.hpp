#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace swage {

/// SHA-256 as 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

/// HMAC-SHA-256, 32 raw bytes.
std::string hmac_sha256(std::string_view key, std::string_view bytes);

/// Equal, in time that does not depend on where they differ. Different sizes are unequal.
bool constant_time_equal(std::string_view a, std::string_view b);

/// Lower-case hex digits of raw bytes, and back; `from_hex` returns an empty string for bad input.
std::string to_hex(std::string_view bytes);
std::string from_hex(std::string_view hex);

/// `count` random bytes from the kernel.
std::string random_bytes(std::size_t count);

/// CRC-32C (Castagnoli), as iSCSI and ext4 use it. `seed` continues an earlier checksum.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0);

/// FNV-1a, 64 bits, over the ids as little-endian 32-bit words: the prefix hash of a session.
std::uint64_t fnv1a(std::span<const std::uint32_t> ids, std::uint64_t seed = 0xcbf29ce484222325ULL);

/// Accumulates a SHA-256 over parts. Not thread-safe; use once.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::string_view bytes);
  std::string hex();

 private:
  void* context_;
};

}  // namespace swage
