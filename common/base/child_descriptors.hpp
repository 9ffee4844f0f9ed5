#pragma once

#include <span>

namespace swage {

/// A descriptor that a child process gets.
struct ChildDescriptor {
  int target;  ///< its number in the child
  int source;  ///< its number in us
};

/// For a child between fork and exec (it allocates nothing): `wanted` arrive under their numbers,
/// 0, 1 and 2 stay what they are unless wanted otherwise, and exec closes every other descriptor,
/// whoever opened it and with whatever flags. Every program that we start goes through here or
/// through run_command(): an inherited socket is a way out of a sandbox. `wanted` is scratch
/// afterwards. False: errno says why, and the child must not go on (before Linux 5.11: ENOSYS).
[[nodiscard]] bool keep_only(std::span<ChildDescriptor> wanted);

/// A number above all targets of keep_only(), where a descriptor of the child's own is safe from
/// it.
int above_all(std::span<const ChildDescriptor> wanted);

}  // namespace swage
