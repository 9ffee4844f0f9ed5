#include "rollout_worker/core/tool_call_parser.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/json_text.hpp"

namespace swage::rollout_worker {
namespace {

constexpr std::string_view kOpen = "<tool_call>";
constexpr std::string_view kClose = "</tool_call>";
constexpr int kDeepest = 32;  ///< nested arrays and objects

constexpr std::string_view kForm =
    " Write <tool_call>{\"name\": \"…\", \"arguments\": {…}}</tool_call>, in valid JSON.";

/// Advances the match of `tag` by one character. No proper prefix of the tags is also a suffix, but
/// their first character, so that a mismatch restarts at most there.
std::size_t advance(std::string_view tag, std::size_t matched, char c) {
  if (c == tag[matched]) return matched + 1;
  return c == tag[0] ? 1 : 0;
}

ParsedCall malformed(std::string_view body, std::string why) {
  ParsedCall call;
  call.raw = body;
  call.error = std::move(why) + std::string(kForm);
  return call;
}

/// Nesting outside strings. Deeper text is refused before it is parsed.
bool too_deep(std::string_view body) {
  int depth = 0;
  bool in_string = false;
  bool escaped = false;
  for (const char c : body) {
    if (in_string) {
      if (escaped) {
        escaped = false;
      } else if (c == '\\') {
        escaped = true;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kDeepest) return true;
  }
  return false;
}

}  // namespace

ParsedCall parse_call(std::string_view body) {
  if (too_deep(body)) return malformed(body, "The tool call is nested too deeply.");
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(body);
  } catch (const nlohmann::json::parse_error& e) {
    return malformed(body,
                     "The tool call is not valid JSON (at byte " + std::to_string(e.byte) + ").");
  } catch (const nlohmann::json::out_of_range&) {
    return malformed(body, "The tool call holds a number that is too large.");
  }
  if (!json.is_object()) return malformed(body, "The tool call is not a JSON object.");
  const auto name = json.find("name");
  if (name == json.end() || !name->is_string() || name->get_ref<const std::string&>().empty())
    return malformed(body, "The tool call has no \"name\".");
  const auto arguments = json.find("arguments");
  if (arguments == json.end() || !arguments->is_object()) {
    auto call = malformed(body, "The tool call's \"arguments\" must be a JSON object.");
    call.name = name->get<std::string>();
    return call;
  }
  ParsedCall call;
  call.name = name->get<std::string>();
  call.arguments = json_text(*arguments);
  call.raw = body;
  return call;
}

void HermesParser::feed(std::string_view text) {
  for (const char c : text) feed_char(c);
}

void HermesParser::feed_char(char c) {
  if (full_) return;
  if (inside_) return feed_body(c);
  matched_ = advance(kOpen, matched_, c);
  if (matched_ == kOpen.size()) begin_body();
}

void HermesParser::begin_body() {
  matched_ = 0;
  if (calls_.size() == kMostCalls) {
    full_ = true;
    calls_.push_back(malformed("", "Too many tool calls in one message."));
    return;
  }
  inside_ = true;
  body_.clear();
  in_string_ = escaped_ = false;
  quoted_matched_ = 0;
  quoted_end_.reset();
}

void HermesParser::feed_body(char c) {
  body_ += c;
  if (in_string_) {
    quoted_matched_ = advance(kClose, quoted_matched_, c);
    if (quoted_matched_ == kClose.size()) {
      if (!quoted_end_) quoted_end_ = body_.size();
      quoted_matched_ = 0;
    }
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      quoted_matched_ = 0;
    }
    return;
  }
  if (c == '"') {
    in_string_ = true;
    matched_ = 0;
    return;
  }
  matched_ = advance(kClose, matched_, c);
  if (matched_ == kClose.size()) end_body();
}

void HermesParser::end_body() {
  body_.resize(body_.size() - kClose.size());
  calls_.push_back(parse_call(body_));
  inside_ = false;
  matched_ = 0;
}

std::vector<ParsedCall> HermesParser::finish() {
  while (inside_) {
    if (!quoted_end_) {
      calls_.push_back(malformed(body_, "The tool call is not closed."));
      break;
    }
    // A string was left open and swallowed the closing tag: end the call there and look at the
    // rest.
    const std::string rest = body_.substr(*quoted_end_);
    body_.resize(*quoted_end_ - kClose.size());
    calls_.push_back(parse_call(body_));
    inside_ = false;
    matched_ = 0;
    feed(rest);
  }
  return std::move(calls_);
}

}  // namespace swage::rollout_worker
