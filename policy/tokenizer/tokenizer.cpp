#include "policy/tokenizer/tokenizer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <queue>
#include <unordered_map>

#include "common/base/check.hpp"
#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "policy/tokenizer/byte_level.hpp"
#include "policy/tokenizer/pre_tokenizer.hpp"

namespace swage::policy {
namespace {

using Json = nlohmann::json;

struct Merge {
  std::uint32_t rank;
  TokenId made;
};

std::uint64_t pair_key(TokenId left, TokenId right) {
  return (static_cast<std::uint64_t>(left) << 32) | right;
}

struct AddedToken {
  std::string text;
  TokenId id;
  bool special;
};

tl::unexpected<TokenizerError> error(TokenizerErrc code, std::string message) {
  return tl::unexpected(TokenizerError{code, std::move(message)});
}

}  // namespace

struct Tokenizer::Tables {
  std::string digest;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unordered_map<std::string, TokenId> ids;  ///< by byte-level text; added tokens by plain text
  std::vector<std::string> bytes;                ///< what each id decodes to
  std::vector<bool> special;
  std::vector<AddedToken> added;  ///< longest first
  std::array<TokenId, 256> of_byte{};
  std::unordered_map<std::uint64_t, Merge> merges;
  std::unordered_map<std::string, TokenId> whole_words;  ///< by bytes; filled for ignore_merges

  void encode_word(std::string_view word, std::vector<TokenId>& out) const;
  void encode_text(std::string_view text, std::vector<TokenId>& out) const;
};

namespace {

/// Merges adjacent symbols of one word, lowest rank first, leftmost first among equals. A heap over
/// a linked list: O(n log n), so that a long line does not cost its square.
class WordMerger {
 public:
  WordMerger(const std::unordered_map<std::uint64_t, Merge>& merges, std::vector<TokenId> ids)
      : merges_(merges), ids_(std::move(ids)) {
    const auto n = static_cast<int>(ids_.size());
    for (int i = 0; i < n; ++i) {
      previous_.push_back(i - 1);
      next_.push_back(i + 1 < n ? i + 1 : -1);
    }
    for (int i = 0; i + 1 < n; ++i) offer(i);
  }

  void run(std::vector<TokenId>& out) {
    while (!heap_.empty()) {
      const auto [rank, at, left, right, made] = heap_.top();
      heap_.pop();
      const int after = next_[index(at)];
      const bool live =
          alive(at) && after >= 0 && ids_[index(at)] == left && ids_[index(after)] == right;
      if (live) join(at, after, made);
    }
    for (int i = 0; i >= 0 && !ids_.empty(); i = next_[index(i)]) out.push_back(ids_[index(i)]);
  }

 private:
  struct Candidate {
    std::uint32_t rank;
    int at;
    TokenId left, right, made;
    bool operator<(const Candidate& other) const {
      return std::tie(rank, at) > std::tie(other.rank, other.at);
    }
  };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  bool alive(int i) const { return previous_[index(i)] != -2; }

  void offer(int at) {
    const int after = next_[index(at)];
    if (after < 0) return;
    const auto found = merges_.find(pair_key(ids_[index(at)], ids_[index(after)]));
    if (found == merges_.end()) return;
    heap_.push({found->second.rank, at, ids_[index(at)], ids_[index(after)], found->second.made});
  }
  void join(int at, int after, TokenId made) {
    ids_[index(at)] = made;
    next_[index(at)] = next_[index(after)];
    if (next_[index(at)] >= 0) previous_[index(next_[index(at)])] = at;
    previous_[index(after)] = -2;
    offer(at);
    if (previous_[index(at)] >= 0) offer(previous_[index(at)]);
  }

  const std::unordered_map<std::uint64_t, Merge>& merges_;
  std::vector<TokenId> ids_;
  std::vector<int> previous_, next_;  // -1: none; previous -2: merged away
  std::priority_queue<Candidate> heap_;
};

}  // namespace

void Tokenizer::Tables::encode_word(std::string_view word, std::vector<TokenId>& out) const {
  if (!whole_words.empty()) {
    if (const auto found = whole_words.find(std::string(word)); found != whole_words.end()) {
      out.push_back(found->second);
      return;
    }
  }
  std::vector<TokenId> symbols;
  symbols.reserve(word.size());
  for (const char byte : word) symbols.push_back(of_byte[static_cast<unsigned char>(byte)]);
  WordMerger(merges, std::move(symbols)).run(out);
}

void Tokenizer::Tables::encode_text(std::string_view text, std::vector<TokenId>& out) const {
  if (text.empty()) return;
  std::vector<std::string_view> words;
  pre_tokenizer->split(text, words);
  for (const auto word : words) encode_word(word, out);
}

std::vector<TokenId> Tokenizer::encode(std::string_view raw, bool parse_special) const {
  const std::string text = valid_utf8(raw);
  std::vector<TokenId> out;
  std::size_t plain = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto rest = std::string_view(text).substr(at);
    const auto hit = std::ranges::find_if(tables_->added, [&](const AddedToken& token) {
      return (parse_special || !token.special) && rest.starts_with(token.text);
    });
    if (hit == tables_->added.end()) {
      ++at;
      continue;
    }
    tables_->encode_text(std::string_view(text).substr(plain, at - plain), out);
    out.push_back(hit->id);
    at += hit->text.size();
    plain = at;
  }
  tables_->encode_text(std::string_view(text).substr(plain), out);
  return out;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string out;
  for (const TokenId id : ids) {
    check(id < tables_->bytes.size(), "decode: an id beyond the vocabulary");
    if (!skip_special || !tables_->special[id]) out += tables_->bytes[id];
  }
  return out;
}

std::optional<TokenId> Tokenizer::id_of(std::string_view token) const {
  const auto found = tables_->ids.find(std::string(token));
  if (found == tables_->ids.end()) return std::nullopt;
  return found->second;
}

bool Tokenizer::is_special(TokenId id) const {
  return id < tables_->special.size() && tables_->special[id];
}
std::uint32_t Tokenizer::vocabulary() const {
  return static_cast<std::uint32_t>(tables_->bytes.size());
}
const std::string& Tokenizer::digest() const { return tables_->digest; }

namespace {

using Loaded = Result<void, TokenizerError>;

constexpr std::int64_t kMaxId = 4'000'000;

/// Refuses the fields whose work this program does not do.
Loaded refuse_unknown_parts(const Json& json) {
  const auto type_of = [&](const char* field) -> std::string {
    const auto& part = json.value(field, Json());
    return part.is_null() ? "" : part.at("type").get<std::string>();
  };
  if (const auto type = type_of("normalizer"); !type.empty())
    return error(TokenizerErrc::unsupported, "normalizer: " + type);
  if (const auto type = type_of("decoder"); type != "ByteLevel")
    return error(TokenizerErrc::unsupported, "decoder: " + (type.empty() ? "none" : type));
  // Encoding never adds tokens, so these post-processors have nothing to do here.
  if (const auto type = type_of("post_processor");
      !type.empty() && type != "ByteLevel" && type != "TemplateProcessing" && type != "Sequence")
    return error(TokenizerErrc::unsupported, "post_processor: " + type);
  const auto& model = json.at("model");
  if (model.value("type", "BPE") != "BPE")
    return error(TokenizerErrc::unsupported, "model: " + model.at("type").get<std::string>());
  for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const auto value = model.value(field, Json());
    if (!value.is_null() && value != "")
      return error(TokenizerErrc::unsupported, std::string("model.") + field);
  }
  if (const auto dropout = model.value("dropout", Json()); !dropout.is_null() && dropout != 0.0)
    return error(TokenizerErrc::unsupported, "model.dropout");
  if (model.value("byte_fallback", false))
    return error(TokenizerErrc::unsupported, "model.byte_fallback");
  return {};
}

Loaded load_vocabulary(const Json& json, Tokenizer::Tables& tables) {
  std::int64_t last = -1;
  bool good = true;
  const auto see = [&](const Json& id) {
    const auto value = id.get<std::int64_t>();
    good = good && value >= 0 && value <= kMaxId;
    last = std::max(last, value);
  };
  const auto& vocabulary = json.at("model").at("vocab");
  for (const auto& [text, id] : vocabulary.items()) see(id);
  for (const auto& token : json.value("added_tokens", Json::array())) see(token.at("id"));
  if (!good) return error(TokenizerErrc::malformed, "model.vocab: an id is not in 0 … 4,000,000");
  const auto size = static_cast<std::size_t>(last + 1);
  tables.bytes.resize(size);
  tables.special.resize(size);
  const bool ignore_merges = json.at("model").value("ignore_merges", false);
  for (const auto& [text, id_json] : vocabulary.items()) {
    const auto id = id_json.get<TokenId>();
    const auto bytes = from_byte_level(text);
    tables.bytes[id] = bytes.value_or(text);
    tables.ids.emplace(text, id);
    if (ignore_merges && bytes) tables.whole_words.emplace(*bytes, id);
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto found = tables.ids.find(byte_level_alphabet()[byte]);
    if (found == tables.ids.end())
      return error(TokenizerErrc::unsupported,
                   "model.vocab: no token for byte " + std::to_string(byte));
    tables.of_byte[byte] = found->second;
  }
  return {};
}

Loaded load_added(const Json& json, Tokenizer::Tables& tables) {
  for (const auto& token : json.value("added_tokens", Json::array())) {
    AddedToken added{token.at("content").get<std::string>(), token.at("id").get<TokenId>(),
                     token.value("special", false)};
    for (const char* flag : {"single_word", "lstrip", "rstrip"}) {
      if (token.value(flag, false))
        return error(TokenizerErrc::unsupported, "added_tokens: `" + added.text + "` with " + flag);
    }
    if (added.text.empty()) return error(TokenizerErrc::malformed, "added_tokens: empty content");
    tables.bytes[added.id] = added.text;
    tables.special[added.id] = added.special;
    tables.ids.insert_or_assign(added.text, added.id);
    tables.added.push_back(std::move(added));
  }
  std::ranges::sort(tables.added, [](const AddedToken& a, const AddedToken& b) {
    return std::pair(b.text.size(), a.id) < std::pair(a.text.size(), b.id);
  });
  return {};
}

Loaded load_merges(const Json& json, Tokenizer::Tables& tables) {
  std::uint32_t rank = 0;
  for (const auto& merge : json.at("model").at("merges")) {
    std::string left, right;
    if (merge.is_string()) {
      const auto text = merge.get<std::string>();
      const auto space = text.find(' ');
      if (space == std::string::npos)
        return error(TokenizerErrc::malformed, "model.merges[" + std::to_string(rank) + "]");
      left = text.substr(0, space);
      right = text.substr(space + 1);
    } else {
      left = merge.at(0).get<std::string>();
      right = merge.at(1).get<std::string>();
    }
    const auto id = [&](const std::string& text) {
      const auto found = tables.ids.find(text);
      return found == tables.ids.end() ? std::optional<TokenId>() : found->second;
    };
    const auto a = id(left), b = id(right), made = id(left + right);
    if (!a || !b || !made)
      return error(TokenizerErrc::malformed,
                   "model.merges[" + std::to_string(rank) + "]: a token is not in model.vocab");
    tables.merges.emplace(pair_key(*a, *b), Merge{rank, *made});
    ++rank;
  }
  return {};
}

Result<std::shared_ptr<Tokenizer::Tables>, TokenizerError> load_tables(const Json& json) {
  auto tables = std::make_shared<Tokenizer::Tables>();
  bool byte_level = false;
  auto pre = make_pre_tokenizer(json.value("pre_tokenizer", Json()), byte_level);
  if (!pre) return tl::unexpected(pre.error());
  if (!byte_level) return error(TokenizerErrc::unsupported, "pre_tokenizer: without ByteLevel");
  tables->pre_tokenizer = std::move(*pre);
  auto loaded = refuse_unknown_parts(json)
                    .and_then([&] { return load_vocabulary(json, *tables); })
                    .and_then([&] { return load_added(json, *tables); })
                    .and_then([&] { return load_merges(json, *tables); });
  if (!loaded) return tl::unexpected(loaded.error());
  return tables;
}

}  // namespace

Result<Tokenizer, TokenizerError> Tokenizer::parse(std::string_view text) {
  const auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return error(TokenizerErrc::malformed, "not a JSON object");
  try {
    auto tables = load_tables(json);
    if (!tables) return tl::unexpected(tables.error());
    (*tables)->digest = sha256_hex(text);
    return Tokenizer(std::move(*tables));
  } catch (const Json::exception& e) {
    return error(TokenizerErrc::malformed, e.what());
  }
}

Result<Tokenizer, TokenizerError> Tokenizer::load(const std::filesystem::path& file) {
  const auto text = read_file(file);
  if (!text) return error(TokenizerErrc::unreadable, text.error().message);
  auto parsed = parse(*text);
  if (!parsed) return error(parsed.error().code, file.string() + ": " + parsed.error().message);
  return parsed;
}

}  // namespace swage::policy
