#include "common/base/child_descriptors.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

namespace swage {
namespace {

constexpr int kFirst = 3;  // after stdin, stdout and stderr

}  // namespace

int above_all(std::span<const ChildDescriptor> wanted) {
  int out = kFirst;
  for (const auto& one : wanted) out = std::max(out, one.target + 1);
  return out;
}

bool keep_only(std::span<ChildDescriptor> wanted) {
  // First out of the way of every target, so that none is overwritten before it is copied.
  const int safe = above_all(wanted);
  for (auto& one : wanted) {
    one.source = ::fcntl(one.source, F_DUPFD_CLOEXEC, safe);
    if (one.source < 0) return false;
  }
  if (::close_range(kFirst, std::numeric_limits<unsigned>::max(), CLOSE_RANGE_CLOEXEC) != 0)
    return false;
  return std::ranges::all_of(
      wanted, [](const auto& one) { return ::dup2(one.source, one.target) == one.target; });
}

}  // namespace swage
