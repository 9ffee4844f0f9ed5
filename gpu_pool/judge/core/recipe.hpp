#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gpu_pool/judge/core/element_type.hpp"

namespace swage::judge {

/// Distribution of independent elements.
enum class Law : std::uint8_t {
  uniform,   ///< [a, b)
  normal,    ///< mean a, standard deviation b
  randint,   ///< integers [a, b)
  perm,      ///< a permutation of the integers [0, b)
  constant,  ///< a
};

/// How the judge makes a tensor's content by itself.
struct Recipe {
  Law law = Law::uniform;
  double a = 0;
  double b = 1;
};

/// `uniform`, `normal`, `randint`, `perm`, `const`; nothing for another name.
std::optional<Law> law_of(std::string_view name);

/// Independent Philox streams out of one root: the key for a purpose and a number.
std::uint64_t derive_key(std::span<const std::byte, 32> root, std::uint64_t purpose,
                         std::uint64_t number);

/// Elements are made in blocks of this many, so that parts can be made in parallel.
inline constexpr std::uint64_t kFillBlock = 4096;

/// Fills the elements [begin, end) of a flat buffer of `buffer.size() / size_of(type)` elements.
/// begin is a multiple of kFillBlock; the result does not depend on how a range is divided. `perm`
/// is only filled as a whole. Bits depend on (recipe, key, position) alone. A GPU may do it by
/// itself (Device::fill), from the same words.
void fill(const Recipe& recipe, ElementType type, std::uint64_t key, std::span<std::byte> buffer,
          std::uint64_t begin, std::uint64_t end);

}  // namespace swage::judge
