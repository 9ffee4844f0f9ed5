#pragma once

#include <span>
#include <string>
#include <vector>

namespace swage::policy {

/// How a byte-level BPE is trained.
struct TrainerOptions {
  std::uint32_t vocabulary = 2048;   ///< most ids: special tokens, 256 bytes, merges
  std::vector<std::string> special;  ///< get the first ids, in this order
  std::uint32_t min_count = 2;       ///< a pair seen fewer times is never merged
};

/// Trains byte-level BPE and returns the content of a Hugging Face `tokenizer.json`. Words end
/// after a line feed, after an escaped line feed (backslash, n: file contents travel inside JSON),
/// and at each digit; so a whole source line may become one token. Deterministic: the most frequent
/// pair is merged first, ties go to the lowest pair of ids. texts: UTF-8; text of special tokens in
/// them is ordinary text. Errors: none; vocabulary below special + 256 is a bug and ends the
/// process.
std::string train_tokenizer(const TrainerOptions& options, std::span<const std::string> texts);

}  // namespace swage::policy
