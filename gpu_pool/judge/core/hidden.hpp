#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gpu_pool/judge/core/element_type.hpp"

namespace swage::judge {

/// Distributions of inputs that get_inputs() does not draw (design judge.md, section 3): shapes are
/// part of a task's contract, value ranges are not. Rows are the last dimension.
enum class Hidden : std::uint8_t {
  shifted,           ///< 100 + z; z is standard normal throughout
  large,             ///< 1000 z
  small,             ///< 0.001 z
  lognormal,         ///< exp(z)
  sparse,            ///< 90 % zeros, else z
  constant_rows,     ///< one z a row
  sorted,            ///< rising from about -3 to 3 over the whole tensor
  one_hot,           ///< one 1 a row
  alternating,       ///< signs alternate, sizes in [1, 1.1)
  rows_at_80,        ///< z + 80 or z - 80, by row
  clustered_maxima,  ///< z, and in each row a run of values near 10
  denormals,         ///< 1e-40 z
};
inline constexpr std::size_t kHiddenCount = 12;

/// `shifted` and so on; nothing for another name.
std::string_view name_of(Hidden which);
std::optional<Hidden> hidden_of(std::string_view name);

/// Elements at the beginning that fill_hidden() leaves as they are where signs and sizes are at
/// stake (large, constant_rows, alternating, rows_at_80), in tensors of at least four times as
/// many: whoever looks at the beginning to find out what comes sees the usual inputs.
inline constexpr std::uint64_t kCalmElements = 256;

/// Fills the elements [begin, end) of a flat floating buffer whose rows have `row` elements (> 0).
/// begin is a multiple of kFillBlock (recipe.hpp); bits depend on (which, row, key, position)
/// alone.
void fill_hidden(Hidden which, ElementType type, std::uint64_t row, std::uint64_t key,
                 std::span<std::byte> buffer, std::uint64_t begin, std::uint64_t end);

/// Draws `count` of the valid distributions, no two alike. Each of three families that is present
/// is represented while `count` allows it (sign and size; structure within a row; range), so that
/// one draw cannot miss all of a kind.
std::vector<Hidden> draw_hidden(const std::vector<Hidden>& valid, std::size_t count,
                                std::uint64_t key);

}  // namespace swage::judge
