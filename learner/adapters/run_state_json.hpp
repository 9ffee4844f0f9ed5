#pragma once

#include <string>

#include "common/base/result.hpp"
#include "learner/core/run_state.hpp"

namespace swage::learner {

/// Text of a checkpoint's state.json.
std::string to_text(const RunState& state, const RunIdentity& identity);

struct SavedState {
  RunState state;
  RunIdentity identity;
};
/// And back. Errors: one sentence naming the field.
Result<SavedState, std::string> saved_state_from(const std::string& text);

}  // namespace swage::learner
