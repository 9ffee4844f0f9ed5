#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace swage::policy {

using TokenId = std::uint32_t;

enum class TokenizerErrc {
  unreadable,   ///< the file cannot be read
  malformed,    ///< not JSON, a field is missing or ill-typed, or fields contradict each other
  unsupported,  ///< a valid tokenizer with a part that this program does not know
};

constexpr FailureKind kind_of(TokenizerErrc) { return FailureKind::give_up; }

/// `message` names the file's field, for people.
struct TokenizerError {
  TokenizerErrc code = TokenizerErrc::malformed;
  std::string message;
};

/// Text ⇄ token ids by a Hugging Face `tokenizer.json`: byte-level BPE with the pre-tokenizers
/// ByteLevel, Split, Digits and Sequence, and added tokens. Any other part is a load error naming
/// it. Immutable once loaded: share it between threads. Cheap to copy.
class Tokenizer {
 public:
  static Result<Tokenizer, TokenizerError> load(const std::filesystem::path& file);
  /// json: the content of a tokenizer.json.
  static Result<Tokenizer, TokenizerError> parse(std::string_view json);

  /// Invalid UTF-8 becomes U+FFFD first. parse_special: whether the text of a special token becomes
  /// that token; false for tool output and task text, so that a printed `<|end|>` stays ordinary
  /// text. Nothing is added in front or behind.
  std::vector<TokenId> encode(std::string_view text, bool parse_special) const;

  /// The bytes of the ids, one after the other; they need not be whole UTF-8 characters. Ids must
  /// be below vocabulary(). skip_special: leave special tokens out instead of writing their text.
  std::string decode(std::span<const TokenId> ids, bool skip_special = false) const;

  std::optional<TokenId> id_of(std::string_view token) const;
  bool is_special(TokenId id) const;
  /// Number of ids: the largest id plus one.
  std::uint32_t vocabulary() const;
  /// SHA-256 of the file's bytes, 64 hex digits.
  const std::string& digest() const;

  struct Tables;

 private:
  explicit Tokenizer(std::shared_ptr<const Tables> tables) : tables_(std::move(tables)) {}
  std::shared_ptr<const Tables> tables_;
};

}  // namespace swage::policy
