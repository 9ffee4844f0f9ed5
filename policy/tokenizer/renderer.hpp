#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/tokenizer/tokenizer.hpp"

namespace swage::policy {

/// What a rollout starts from. A renderer uses the parts its format has.
struct PromptParts {
  std::string task_name;  ///< what the task is called, e.g. `softmax`
  std::string system;     ///< tool schemas and SKILL.md; the tiny renderer leaves it out
  std::string user;       ///< the task's text; the tiny renderer leaves it out
};

/// Turns the parts of a rollout into token ids, turn by turn. Append-only: ids once made never
/// change, so a trajectory is the concatenation
///   prompt_ids · assistant_begin_ids · <sampled> · observation_ids · assistant_begin_ids · …
/// Text of tasks and tools is never read as special tokens. Immutable; share it between threads.
class Renderer {
 public:
  virtual ~Renderer() = default;
  virtual std::vector<TokenId> prompt_ids(const PromptParts& parts) const = 0;
  /// What stands before a policy message.
  virtual std::vector<TokenId> assistant_begin_ids() const = 0;
  /// A whole message of the scripted teacher, with the stop id that ends it: what a policy would
  /// have to sample after assistant_begin_ids().
  virtual std::vector<TokenId> assistant_message_ids(std::string_view text) const = 0;
  /// Ids that end a policy message when sampled; they stay in the record.
  virtual std::vector<TokenId> stop_ids() const = 0;
  /// The text of sampled ids without the stop id at their end.
  virtual std::string message_text(std::span<const TokenId> sampled) const = 0;
  /// One block per tool result, in order. message_closed: whether the policy message before ended
  /// with a stop id; if not (token limit), what it lacks comes first.
  virtual std::vector<TokenId> observation_ids(std::span<const std::string> results,
                                               bool message_closed) const = 0;
};

/// name: `tiny`. Errors: unsupported for another name; malformed if the tokenizer lacks a special
/// token of the format.
Result<std::unique_ptr<Renderer>, TokenizerError> make_renderer(std::string_view name,
                                                                Tokenizer tokenizer);

/// The special tokens of the tiny format, in id order, for whoever trains its tokenizer:
/// `<|user|>`, `<|assistant|>`, `<|tool|>`, `<|end|>`.
std::vector<std::string> tiny_special_tokens();

}  // namespace swage::policy
