#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swage::rollout_worker {

/// One tool call of a message: well-formed, or with a sentence for the policy why it is not.
struct ParsedCall {
  std::string name;       ///< empty if it could not be read
  std::string arguments;  ///< a JSON object, canonical: keys sorted, no spaces
  std::string raw;        ///< what stood between the tags
  std::string error;      ///< empty: well-formed
  bool well_formed() const { return error.empty(); }
};

/// Finds `<tool_call>{"name": …, "arguments": {…}}</tool_call>` (Hermes, Qwen) in a policy message.
/// Incremental: pieces may be cut anywhere. Pure. It must see sampled text only: a call quoted in
/// an observation is no call. A closing tag inside a JSON string belongs to the string; only where
/// no other closing tag follows does it end a (malformed) call. Text outside the tags is ignored.
class HermesParser {
 public:
  static constexpr std::size_t kMostCalls = 64;  ///< of one message; the rest is one malformed call

  void feed(std::string_view text);
  /// Ends the message and returns its calls in order. Use the parser once.
  std::vector<ParsedCall> finish();

 private:
  void feed_char(char c);
  void feed_body(char c);
  void end_body();
  void begin_body();

  std::vector<ParsedCall> calls_;
  bool inside_ = false;
  std::size_t matched_ = 0;  ///< characters of the tag awaited that have been seen
  std::string body_;
  bool in_string_ = false;
  bool escaped_ = false;
  std::size_t quoted_matched_ = 0;         ///< of a closing tag inside a string
  std::optional<std::size_t> quoted_end_;  ///< where the first closing tag inside a string ends
  bool full_ = false;
};

/// Reads one call's JSON. Exposed for tests.
ParsedCall parse_call(std::string_view body);

}  // namespace swage::rollout_worker
