#include "learner/core/batch.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace swage::learner {
namespace {

struct Group {
  std::uint64_t id = 0;
  std::uint64_t start = 0;
  std::vector<const ReadyTrajectory*> members;
};

std::vector<Group> groups_of(std::span<const ReadyTrajectory> ready) {
  std::map<std::uint64_t, Group> by_id;
  for (const auto& t : ready) {
    auto& group = by_id[t.group];
    group.id = t.group;
    group.start = group.members.empty() ? t.start : std::min(group.start, t.start);
    group.members.push_back(&t);
  }
  std::vector<Group> out;
  for (auto& [id, group] : by_id) {
    std::sort(group.members.begin(), group.members.end(),
              [](const auto* a, const auto* b) { return a->member < b->member; });
    out.push_back(std::move(group));
  }
  std::sort(out.begin(), out.end(), [](const Group& a, const Group& b) {
    return std::tie(a.start, a.id) < std::tie(b.start, b.id);
  });
  return out;
}

/// Whether taking `chosen` leaves room for everything that must be trained within the bound.
bool hold_allows(const std::vector<Group>& groups, const std::set<std::uint64_t>& chosen,
                 const BatchQuestion& q) {
  if (q.staleness == 0) return true;  // capacity starts B a step: what is left over was given up
  for (std::uint64_t j = 0; j <= q.staleness; ++j) {
    if (q.step + j < q.staleness) continue;  // before the first step nothing is that old
    const std::uint64_t limit = q.step + j - q.staleness;
    std::uint64_t live = static_cast<std::uint64_t>(
        std::count_if(q.running_starts.begin(), q.running_starts.end(),
                      [&](std::uint64_t start) { return start <= limit; }));
    std::uint64_t taken = 0;
    for (const auto& group : groups) {
      if (group.start > limit) continue;
      live += group.members.size();
      if (chosen.contains(group.id)) taken += group.members.size();
    }
    if (taken + j * q.batch < live) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<std::string>> select_batch(std::span<const ReadyTrajectory> ready,
                                                     const BatchQuestion& question) {
  if (ready.size() < question.batch) return std::nullopt;
  const auto groups = groups_of(ready);
  std::vector<std::string> ids;
  std::set<std::uint64_t> chosen;
  for (const auto& group : groups) {
    if (ids.size() + group.members.size() > question.batch) break;
    if (group.members.size() < question.group_size) continue;
    chosen.insert(group.id);
    for (const auto* member : group.members) ids.push_back(member->rollout_id);
    if (ids.size() == question.batch) break;
  }
  if (ids.size() < question.batch || !hold_allows(groups, chosen, question)) return std::nullopt;
  return ids;
}

std::vector<ReadyTrajectory> without_groups(std::vector<ReadyTrajectory> ready,
                                            std::span<const std::uint64_t> groups) {
  const std::set<std::uint64_t> gone(groups.begin(), groups.end());
  std::erase_if(ready, [&](const auto& t) { return gone.contains(t.group); });
  return ready;
}

std::uint64_t presumed_start(std::uint64_t group, const BatchQuestion& question) {
  const std::uint64_t steps =
      ((group + 1) * question.group_size + question.batch - 1) / question.batch;
  const std::uint64_t lead = 1ULL + question.staleness;
  return steps > lead ? steps - lead : 0;
}

std::vector<std::uint64_t> presumed_running(std::span<const ReadyTrajectory> ready,
                                            std::span<const std::uint64_t> consumed_groups,
                                            std::uint64_t next_group,
                                            const BatchQuestion& question) {
  std::map<std::uint64_t, std::uint64_t> here;
  for (const auto& t : ready) ++here[t.group];
  for (const auto group : consumed_groups) here[group] = question.group_size;
  for (const auto group : question.cancelled) here[group] = question.group_size;
  std::vector<std::uint64_t> out;
  for (std::uint64_t group = 0; group < next_group; ++group) {
    const auto at = here.find(group);
    const std::uint64_t members = at == here.end() ? 0 : at->second;
    for (std::uint64_t i = members; i < question.group_size; ++i)
      out.push_back(presumed_start(group, question));
  }
  return out;
}

}  // namespace swage::learner
