#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <span>
#include <vector>

#include "common/base/descriptor.hpp"

namespace swage {

/// Makes `header` carry these descriptors (SCM_RIGHTS). Returns the memory it points to, which must
/// live until sendmsg has returned; empty, and the header untouched, when there are none.
std::vector<std::byte> attach_descriptors(msghdr& header, std::span<const int> descriptors);

/// Takes ownership of every descriptor that recvmsg put into `header`.
std::vector<Descriptor> take_descriptors(msghdr& header);

}  // namespace swage
