#pragma once

#include <cstdint>

namespace swage::learner {

/// What PPO made of the toy environment.
struct ToyOutcome {
  double first = 0;  ///< mean reward before the first step
  double last = 0;   ///< mean reward after the last one
};

/// A two-turn environment whose answer depends on the observation: the policy first says `ask` or
/// something else; if it asked it is shown one of three symbols, else a blank; its second message
/// must name the symbol. Reward 1 if it does, else 0. A decoder of one layer learns it from
/// scratch with the real trainer and the real targets.
ToyOutcome learn_toy(std::uint64_t seed, int steps);

}  // namespace swage::learner
