#include "policy/tokenizer/pre_tokenizer.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <nlohmann/json.hpp>

#include "common/base/check.hpp"

namespace swage::policy {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string_view>;

tl::unexpected<TokenizerError> error(TokenizerErrc code, std::string message) {
  return tl::unexpected(TokenizerError{code, std::move(message)});
}

/// What becomes of the matches of a Split's pattern.
enum class Behaviour { removed, isolated, merged_with_previous, merged_with_next, contiguous };

struct Piece {
  std::string_view text;
  bool match;
};

/// Cuts at the matches of a regular expression.
class Split final : public PreTokenizer {
 public:
  using Code = std::unique_ptr<pcre2_code, void (*)(pcre2_code*)>;
  Split(Code code, Behaviour behaviour, bool invert)
      : code_(std::move(code)), behaviour_(behaviour), invert_(invert) {}

  void split(std::string_view text, Words& words) const override { join(pieces(text), words); }

 private:
  std::vector<Piece> pieces(std::string_view text) const {
    std::vector<Piece> out;
    const auto add = [&](std::size_t begin, std::size_t end, bool match) {
      if (begin < end) out.push_back({text.substr(begin, end - begin), match != invert_});
    };
    const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(
        pcre2_match_data_create_from_pattern(code_.get(), nullptr), pcre2_match_data_free);
    std::size_t done = 0;
    while (done < text.size()) {
      const int found =
          pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), done,
                      PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match.get(), nullptr);
      if (found < 0) break;  // no match, or a match limit: the rest is one piece
      const auto* span = pcre2_get_ovector_pointer(match.get());
      add(done, span[0], false);
      add(span[0], span[1], true);
      done = span[1];
    }
    add(done, text.size(), false);
    return out;
  }

  static std::string_view joined(std::string_view a, std::string_view b) {
    return {a.data(), a.size() + b.size()};
  }

  void join(const std::vector<Piece>& pieces, Words& words) const {
    const std::size_t first = words.size();
    bool previous_match = false;
    for (const auto& [text, match] : pieces) {
      const bool any = words.size() > first;
      bool append = false;
      switch (behaviour_) {
        case Behaviour::removed:
          if (match) continue;
          break;
        case Behaviour::isolated:
          break;
        case Behaviour::merged_with_previous:
          append = any && match && !previous_match;
          break;
        case Behaviour::merged_with_next:
          append = any && !match && previous_match;
          break;
        case Behaviour::contiguous:
          append = any && match == previous_match;
          break;
      }
      if (append) {
        words.back() = joined(words.back(), text);
      } else {
        words.push_back(text);
      }
      previous_match = match;
    }
  }

  Code code_;
  Behaviour behaviour_;
  bool invert_;
};

class Sequence final : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> parts) : parts_(std::move(parts)) {}
  void split(std::string_view text, Words& words) const override {
    Words now{text};
    for (const auto& part : parts_) {
      Words next;
      for (const auto word : now) part->split(word, next);
      now = std::move(next);
    }
    words.insert(words.end(), now.begin(), now.end());
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

using Made = Result<std::unique_ptr<PreTokenizer>, TokenizerError>;

Made make_split(const std::string& pattern, Behaviour behaviour, bool invert) {
  int code = 0;
  PCRE2_SIZE offset = 0;
  Split::Code compiled(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &offset, nullptr),
      pcre2_code_free);
  if (!compiled) {
    PCRE2_UCHAR text[256] = {};
    pcre2_get_error_message(code, text, sizeof text);
    return error(TokenizerErrc::malformed, "pre_tokenizer: pattern `" + pattern +
                                               "`: " + reinterpret_cast<const char*>(text));
  }
  pcre2_jit_compile(compiled.get(), PCRE2_JIT_COMPLETE);  // without it, matching is only slower
  return std::make_unique<Split>(std::move(compiled), behaviour, invert);
}

/// The text as a pattern that matches only it.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view(R"(\^$.|?*+()[]{}#-/)").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::optional<Behaviour> behaviour_named(const std::string& name) {
  if (name == "Removed") return Behaviour::removed;
  if (name == "Isolated") return Behaviour::isolated;
  if (name == "MergedWithPrevious") return Behaviour::merged_with_previous;
  if (name == "MergedWithNext") return Behaviour::merged_with_next;
  if (name == "Contiguous") return Behaviour::contiguous;
  return std::nullopt;
}

Made make_split_from(const Json& json) {
  const auto& pattern = json.at("pattern");
  const auto name = json.at("behavior").get<std::string>();
  const auto behaviour = behaviour_named(name);
  if (!behaviour)
    return error(TokenizerErrc::unsupported, "pre_tokenizer: Split behavior `" + name + "`");
  const std::string expression = pattern.contains("Regex")
                                     ? pattern.at("Regex").get<std::string>()
                                     : quoted(pattern.at("String").get<std::string>());
  return make_split(expression, *behaviour, json.value("invert", false));
}

Made make_byte_level(const Json& json) {
  if (json.value("add_prefix_space", true))
    return error(TokenizerErrc::unsupported, "pre_tokenizer: ByteLevel with add_prefix_space");
  if (!json.value("use_regex", true))
    return std::make_unique<Sequence>(std::vector<std::unique_ptr<PreTokenizer>>{});
  // GPT-2's expression, as tokenizers' ByteLevel uses it.
  return make_split(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
                    Behaviour::isolated, false);
}

}  // namespace

Made make_pre_tokenizer(const Json& json, bool& byte_level) {
  if (json.is_null())
    return std::make_unique<Sequence>(std::vector<std::unique_ptr<PreTokenizer>>{});
  const auto type = json.at("type").get<std::string>();
  if (type == "ByteLevel") {
    byte_level = true;
    return make_byte_level(json);
  }
  if (type == "Split") return make_split_from(json);
  if (type == "Digits") {
    const bool each = json.value("individual_digits", false);
    return make_split(R"(\p{N})", each ? Behaviour::isolated : Behaviour::contiguous, false);
  }
  if (type != "Sequence") return error(TokenizerErrc::unsupported, "pre_tokenizer: " + type);
  std::vector<std::unique_ptr<PreTokenizer>> parts;
  for (const auto& part : json.at("pretokenizers")) {
    // Its alphabet would be cut by what follows; no known tokenizer does that.
    if (byte_level)
      return error(TokenizerErrc::unsupported, "pre_tokenizer: a part after ByteLevel");
    auto made = make_pre_tokenizer(part, byte_level);
    if (!made) return made;
    parts.push_back(std::move(*made));
  }
  return std::make_unique<Sequence>(std::move(parts));
}

}  // namespace swage::policy
