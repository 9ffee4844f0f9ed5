#pragma once

#include <vector>

#include "common/base/descriptor.hpp"

namespace swage::judge {

/// Waits until no other judge of this machine measures on these cores (a training run's and one
/// from the command line, say), and holds them until the descriptor goes. The lock is a file in the
/// folder for temporary files; where it cannot be had nobody waits, and rounds may be void.
Descriptor wait_for_turn(const std::vector<int>& cores);

}  // namespace swage::judge
