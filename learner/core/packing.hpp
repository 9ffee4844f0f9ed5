#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace swage::learner {

struct PackItem {
  std::string rollout_id;
  std::uint64_t tokens = 0;
};

/// Packs whole trajectories first-fit decreasing, ties by rollout_id, into micro-batches of at most
/// max(budget, longest) tokens. Returns indices into `items`; each index once.
std::vector<std::vector<std::size_t>> pack(std::span<const PackItem> items, std::uint64_t budget);

}  // namespace swage::learner
