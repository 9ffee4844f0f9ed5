#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "gpu_pool/judge/core/gate.hpp"

namespace swage::judge {

/// Candidates that compute nothing. A task for which one of them is right cannot be judged (design
/// judge.md, section 9).
enum class Null { zeros, ones, mean, rows_permuted, half_computed, input, last_result };
inline constexpr std::array kNulls{Null::zeros,         Null::ones,          Null::mean,
                                   Null::rows_permuted, Null::half_computed, Null::input,
                                   Null::last_result};
/// `all zeros`, for people.
std::string_view name_of(Null which);

/// What one of them would return in place of `expected`, contiguous. inputs: the call's; last: the
/// result for other inputs, of the same spec. Nothing when it has no such result (a single row to
/// permute, no input of that type and shape).
std::optional<std::vector<std::byte>> null_result(Null which, const TensorView& expected,
                                                  const std::vector<TensorView>& inputs,
                                                  const TensorView& last);

/// Root of the mean square of a tensor's elements, 0 if it has none.
double root_mean_square(const TensorView& tensor);

}  // namespace swage::judge
