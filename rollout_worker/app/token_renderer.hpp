#pragma once

#include <memory>
#include <string>

#include "policy/tokenizer/renderer.hpp"
#include "policy/tokenizer/tokenizer.hpp"
#include "rollout_worker/api/renderer.hpp"

namespace swage::rollout_worker {

/// The run's tokenizer and chat format as agent loops use them. Errors: the format is unknown, or
/// the tokenizer lacks its special tokens.
Result<std::unique_ptr<Renderer>, policy::TokenizerError> make_token_renderer(
    std::string name, policy::Tokenizer tokenizer);

}  // namespace swage::rollout_worker
