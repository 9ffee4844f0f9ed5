#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "policy/tokenizer/tokenizer.hpp"

namespace swage::policy {

/// Cuts text into words before BPE. Immutable; share it between threads.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// text: well-formed UTF-8. Appends views into `text`, in order.
  virtual void split(std::string_view text, std::vector<std::string_view>& words) const = 0;
};

/// From the `pre_tokenizer` field: null, ByteLevel, Split, Digits or Sequence. Whether bytes become
/// characters of the byte-level alphabet goes to `byte_level`. Errors name the field or the type.
Result<std::unique_ptr<PreTokenizer>, TokenizerError> make_pre_tokenizer(const nlohmann::json& json,
                                                                         bool& byte_level);

}  // namespace swage::policy
