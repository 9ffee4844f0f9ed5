#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rollout_worker/api/renderer.hpp"

namespace swage::rollout_worker {

/// SHA-256 of the texts with every number replaced by `#`: timings do not make two observations
/// different. A number is a run of digits, with single dots between digits.
std::string observation_digest(std::span<const std::string> texts);

/// `text` with its numbers replaced.
std::string mask_numbers(std::string_view text);

/// `text` cut to about `cap` tokens (never more than a few above): head and tail are kept around a
/// note that says how many tokens were left out. A cap below 32 is taken as 32.
std::string capped(const Renderer& renderer, std::string_view text, std::uint32_t cap);

}  // namespace swage::rollout_worker
