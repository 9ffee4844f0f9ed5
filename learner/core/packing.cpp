#include "learner/core/packing.hpp"

#include <algorithm>
#include <numeric>

namespace swage::learner {

std::vector<std::vector<std::size_t>> pack(std::span<const PackItem> items, std::uint64_t budget) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (items[a].tokens != items[b].tokens) return items[a].tokens > items[b].tokens;
    return items[a].rollout_id < items[b].rollout_id;
  });
  const std::uint64_t limit =
      order.empty() ? budget : std::max(budget, items[order.front()].tokens);
  std::vector<std::vector<std::size_t>> bins;
  std::vector<std::uint64_t> used;
  for (const auto index : order) {
    std::size_t bin = 0;
    while (bin < bins.size() && used[bin] + items[index].tokens > limit) ++bin;
    if (bin == bins.size()) {
      bins.emplace_back();
      used.push_back(0);
    }
    bins[bin].push_back(index);
    used[bin] += items[index].tokens;
  }
  return bins;
}

}  // namespace swage::learner
