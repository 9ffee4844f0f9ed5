#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learner/api/settings.hpp"

namespace swage::learner {

/// The one weight a of each trajectory's policy tokens, fixed for the global batch:
/// loss = Σ a·L over all policy tokens; nothing divides again. lengths: n_i of every trajectory of
/// the batch. Entries with n_i = 0 get 0 and count nowhere.
std::vector<double> token_weights(std::span<const std::uint64_t> lengths, Aggregation mode,
                                  std::uint64_t context);

}  // namespace swage::learner
