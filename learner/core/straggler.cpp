#include "learner/core/straggler.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace swage::learner {

Blockage blockage(std::span<const ReadyTrajectory> ready,
                  std::span<const std::uint64_t> consumed_groups, std::uint64_t next_group,
                  const BatchQuestion& question) {
  auto unheld = question;
  unheld.staleness = 0;
  Blockage out;
  out.held = select_batch(ready, unheld).has_value();
  if (out.held && select_batch(ready, question)) return {};
  std::map<std::uint64_t, std::uint64_t> here;
  for (const auto& t : ready) ++here[t.group];
  const auto gone = [&](std::uint64_t group) {
    return std::ranges::binary_search(consumed_groups, group) ||
           std::ranges::find(question.cancelled, group) != question.cancelled.end();
  };
  for (std::uint64_t group = 0; group < next_group; ++group) {
    const auto at = here.find(group);
    const bool complete = at != here.end() && at->second >= question.group_size;
    if (complete || gone(group)) continue;
    if (out.held && !out.groups.empty() &&
        presumed_start(group, question) > presumed_start(out.groups.front(), question))
      break;  // a later group is no older
    out.groups.push_back(group);
  }
  return out;
}

std::vector<std::uint64_t> StragglerWatch::observe(Blockage seen, std::uint64_t accepted,
                                                   TimePoint now) {
  const bool same = seen.held == seen_.held && seen.groups == seen_.groups &&
                    (seen.held || accepted == accepted_);
  accepted_ = accepted;
  if (!same) since_.reset();
  seen_ = std::move(seen);
  if (seen_.groups.empty()) return {};
  if (!since_) since_ = now;
  if (now - *since_ < wait_) return {};
  since_.reset();
  return std::exchange(seen_, {}).groups;
}

std::optional<TimePoint> StragglerWatch::due() const {
  return since_ ? std::optional(*since_ + wait_) : std::nullopt;
}

}  // namespace swage::learner
