#include "controller/core/curriculum.hpp"

#include <algorithm>
#include <numeric>

#include "common/base/check.hpp"
#include "common/base/philox.hpp"

namespace swage::controller {
namespace {

enum class Purpose : std::uint64_t { tasks = 1, deck = 2 };

/// Fisher-Yates by counter-based draws: the same permutation everywhere.
std::vector<std::size_t> permutation(std::size_t size, std::int64_t seed, Purpose purpose,
                                     std::uint64_t what, std::uint64_t block) {
  std::vector<std::size_t> out(size);
  std::iota(out.begin(), out.end(), std::size_t{0});
  const std::uint64_t stream = (static_cast<std::uint64_t>(purpose) << 56U) | what;
  for (std::size_t i = size; i > 1; --i) {
    const double u =
        philox_uniform(static_cast<std::uint64_t>(seed), stream, (block << 20U) | (i - 1));
    const auto j = std::min(static_cast<std::size_t>(u * static_cast<double>(i)), i - 1);
    std::swap(out[i - 1], out[j]);
  }
  return out;
}

/// Smooth weighted round robin: one period in which each share stands weight times, spread out.
std::vector<std::size_t> make_turns(const std::vector<TaskShare>& shares) {
  int divisor = 0;
  for (const auto& share : shares) divisor = std::gcd(divisor, share.weight);
  std::vector<int> credit(shares.size(), 0);
  std::vector<std::size_t> out;
  int total = 0;
  for (const auto& share : shares) total += share.weight / divisor;
  for (int turn = 0; turn < total; ++turn) {
    for (std::size_t i = 0; i < shares.size(); ++i) credit[i] += shares[i].weight / divisor;
    const auto best = std::max_element(credit.begin(), credit.end());
    *best -= total;
    out.push_back(static_cast<std::size_t>(best - credit.begin()));
  }
  return out;
}

}  // namespace

Curriculum::Curriculum(std::int64_t seed, std::vector<TaskShare> shares,
                       std::vector<std::uint32_t> deck_sizes)
    : seed_(seed), shares_(std::move(shares)), deck_sizes_(std::move(deck_sizes)) {
  std::erase_if(shares_,
                [](const auto& share) { return share.weight <= 0 || share.tasks.empty(); });
  check(!shares_.empty(), "a curriculum needs a task");
  turns_ = make_turns(shares_);
}

Curriculum::Place Curriculum::place(std::uint64_t group) const {
  const std::uint64_t period = group / turns_.size();
  const auto at = static_cast<std::ptrdiff_t>(group % turns_.size());
  const std::size_t share = turns_[static_cast<std::size_t>(at)];
  const auto each = std::count(turns_.begin(), turns_.end(), share);
  const auto before = std::count(turns_.begin(), turns_.begin() + at, share);
  return {share, period * static_cast<std::uint64_t>(each) + static_cast<std::uint64_t>(before)};
}

Dealt Curriculum::deal(const RolloutName& name, std::uint32_t group_size) const {
  const auto where = place(name.group);
  const auto& tasks = shares_[where.share].tasks;
  const std::uint64_t block = where.nth / tasks.size();
  auto slot = static_cast<std::size_t>(where.nth % tasks.size());
  if (is_ppo(name.stage))
    slot = permutation(tasks.size(), seed_, Purpose::tasks,
                       (static_cast<std::uint64_t>(name.stage) << 32U) | where.share, block)[slot];
  Dealt out{tasks[slot], 0};
  const std::uint32_t deck = deck_sizes_[out.task];
  if (name.stage == Stage::collect && deck > 0) {
    const std::uint64_t nth = block * group_size + name.member;
    out.card = static_cast<std::uint32_t>(
        permutation(deck, seed_, Purpose::deck, out.task, nth / deck)[nth % deck]);
  }
  return out;
}

}  // namespace swage::controller
