#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace swage {

/// Whether two turns made the same calls (tool, canonical arguments) and observed the same.
/// Turn: has calls, each with name and arguments_digest, and observation_digest.
template <class Turn>
bool same_act(const Turn& a, const Turn& b) {
  return a.observation_digest == b.observation_digest &&
         std::ranges::equal(a.calls, b.calls, [](const auto& x, const auto& y) {
           return x.name == y.name && x.arguments_digest == y.arguments_digest;
         });
}

/// Turn u is redundant if an earlier turn is the same act and the work directory (work_digest) has
/// not changed since. Turns without a call are never redundant. turns: a vector or span.
template <class Turns>
std::vector<bool> redundant_turns(const Turns& turns) {
  std::vector<bool> out(turns.size(), false);
  std::size_t unchanged_since = 0;  // first turn after which the work digest was what it is now
  for (std::size_t u = 1; u < turns.size(); ++u) {
    if (turns[u].work_digest != turns[u - 1].work_digest) unchanged_since = u;
    if (turns[u].calls.empty()) continue;
    for (std::size_t earlier = unchanged_since; earlier < u && !out[u]; ++earlier)
      out[u] = same_act(turns[earlier], turns[u]);
  }
  return out;
}

}  // namespace swage
