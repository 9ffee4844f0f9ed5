#include "policy/tokenizer/trainer.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <unordered_map>

#include "common/base/check.hpp"
#include "common/base/json_text.hpp"
#include "policy/tokenizer/byte_level.hpp"
#include "policy/tokenizer/pre_tokenizer.hpp"

namespace swage::policy {
namespace {

using Json = nlohmann::ordered_json;
using Pair = std::pair<TokenId, TokenId>;

/// Cuts behind each occurrence of `text`.
Json split_behind(const char* text) {
  return {{"type", "Split"},
          {"pattern", {{"String", text}}},
          {"behavior", "MergedWithPrevious"},
          {"invert", false}};
}

Json pre_tokenizer_json() {
  return {{"type", "Sequence"},
          {"pretokenizers",
           {split_behind("\n"),
            split_behind("\\n"),
            {{"type", "Digits"}, {"individual_digits", true}},
            {{"type", "ByteLevel"},
             {"add_prefix_space", false},
             {"trim_offsets", true},
             {"use_regex", false}}}}};
}

struct Word {
  std::vector<TokenId> ids;
  std::int64_t count;
};

/// The distinct words of all texts, in the order of their bytes.
std::vector<Word> words_of(std::span<const std::string> texts, std::span<const TokenId> of_byte) {
  bool byte_level = false;
  const auto pre = make_pre_tokenizer(pre_tokenizer_json(), byte_level);
  check(pre.has_value(), "the trainer's own pre-tokenizer");
  std::map<std::string, std::int64_t> counts;
  for (const auto& raw : texts) {
    const auto text = valid_utf8(raw);
    std::vector<std::string_view> words;
    (*pre)->split(text, words);
    for (const auto word : words) ++counts[std::string(word)];
  }
  std::vector<Word> out;
  for (const auto& [text, count] : counts) {
    Word word{{}, count};
    for (const char byte : text) word.ids.push_back(of_byte[static_cast<unsigned char>(byte)]);
    out.push_back(std::move(word));
  }
  return out;
}

struct PairHash {
  std::size_t operator()(const Pair& pair) const {
    return std::hash<std::uint64_t>{}((std::uint64_t{pair.first} << 32) | pair.second);
  }
};

/// Pair counts over the words, kept up to date as pairs are merged. The heap holds each pair at
/// least at its true count; what it holds too high is corrected when it comes to the top.
class PairCounts {
 public:
  explicit PairCounts(std::vector<Word>& words) : words_(words) {
    for (std::size_t i = 0; i < words_.size(); ++i) add_pairs(i, words_[i].count);
    apply(0);
  }

  /// Most frequent, ties to the lowest pair; nothing if none reaches `min_count`.
  std::optional<Pair> best(std::int64_t min_count) {
    while (!heap_.empty()) {
      const auto [claimed, pair] = heap_.top();
      const auto actual = counts_[pair];
      if (claimed < min_count) return std::nullopt;
      if (claimed == actual) return pair;
      heap_.pop();
      if (actual > 0 && actual < claimed) heap_.push({actual, pair});
    }
    return std::nullopt;
  }
  /// The pair is never the best again.
  void forbid(Pair pair) { counts_[pair] = std::numeric_limits<std::int64_t>::min() / 2; }

  void merge(Pair pair, TokenId made) {
    auto touched = std::exchange(where_[pair], {});
    std::ranges::sort(touched);
    touched.erase(std::ranges::unique(touched).begin(), touched.end());
    for (const std::size_t i : touched) {
      add_pairs(i, -words_[i].count);
      auto& ids = words_[i].ids;
      std::vector<TokenId> now;
      for (std::size_t k = 0; k < ids.size(); ++k) {
        const bool hit = k + 1 < ids.size() && Pair(ids[k], ids[k + 1]) == pair;
        now.push_back(hit ? made : ids[k]);
        if (hit) ++k;
      }
      ids = std::move(now);
      add_pairs(i, words_[i].count);
    }
    apply(made);
  }

 private:
  struct Entry {
    std::int64_t count;
    Pair pair;
    bool operator<(const Entry& other) const {
      return count != other.count ? count < other.count : other.pair < pair;
    }
  };

  void add_pairs(std::size_t index, std::int64_t count) {
    const auto& ids = words_[index].ids;
    for (std::size_t k = 0; k + 1 < ids.size(); ++k) {
      auto& change = changes_[{ids[k], ids[k + 1]}];
      change.count += count;
      if (count > 0) change.words.push_back(index);
    }
  }
  void apply(TokenId made) {
    for (auto& [pair, change] : changes_) {
      // Without the new token in it, words can only have lost the pair.
      if (change.count == 0 && pair.first != made && pair.second != made) continue;
      auto& total = counts_[pair];
      total += change.count;
      auto& where = where_[pair];
      where.insert(where.end(), change.words.begin(), change.words.end());
      if (change.count > 0 && total > 0) heap_.push({total, pair});
    }
    changes_.clear();
  }

  struct Change {
    std::int64_t count = 0;
    std::vector<std::size_t> words;  // that hold the pair now
  };
  std::vector<Word>& words_;
  std::unordered_map<Pair, std::int64_t, PairHash> counts_;
  std::unordered_map<Pair, std::vector<std::size_t>, PairHash> where_;  // or once held it
  std::unordered_map<Pair, Change, PairHash> changes_;
  std::priority_queue<Entry> heap_;
};

/// The content of a tokenizer.json. tokens: in id order, the special ones first.
Json file_json(const std::vector<std::string>& special, const std::vector<std::string>& tokens,
               const Json& merges) {
  Json added = Json::array();
  for (std::size_t i = 0; i < special.size(); ++i)
    added.push_back({{"id", i},
                     {"content", special[i]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  Json vocabulary = Json::object();
  for (std::size_t i = 0; i < tokens.size(); ++i) vocabulary[tokens[i]] = i;
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", pre_tokenizer_json()},
          {"post_processor", nullptr},
          {"decoder",
           {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"trim_offsets", true},
            {"use_regex", false}}},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", vocabulary},
            {"merges", merges}}}};
}

}  // namespace

std::string train_tokenizer(const TrainerOptions& options, std::span<const std::string> texts) {
  check(options.vocabulary >= options.special.size() + 256, "vocabulary below special + 256");
  std::vector<std::string> tokens = options.special;
  std::vector<TokenId> of_byte(256);
  // The alphabet in code point order, as tokenizers' trainer lays it; UTF-8 sorts the same way.
  std::vector<std::pair<std::string, std::size_t>> alphabet;
  alphabet.reserve(256);
  for (std::size_t byte = 0; byte < 256; ++byte)
    alphabet.emplace_back(byte_level_alphabet()[byte], byte);
  std::ranges::sort(alphabet);
  for (const auto& [text, byte] : alphabet) {
    of_byte[byte] = static_cast<TokenId>(tokens.size());
    tokens.push_back(text);
  }

  auto words = words_of(texts, of_byte);
  PairCounts counts(words);
  std::unordered_map<std::string, TokenId> ids;
  for (std::size_t i = options.special.size(); i < tokens.size(); ++i)
    ids.emplace(tokens[i], static_cast<TokenId>(i));
  Json merges = Json::array();
  while (tokens.size() < options.vocabulary) {
    const auto pair = counts.best(options.min_count);
    if (!pair) break;
    const auto text = tokens[pair->first] + tokens[pair->second];
    if (std::ranges::find(options.special, text) != options.special.end()) {
      counts.forbid(*pair);  // a special token never comes out of ordinary text
      continue;
    }
    // Two merges may spell the same text; it is one token.
    const auto [at, fresh] = ids.emplace(text, static_cast<TokenId>(tokens.size()));
    merges.push_back({tokens[pair->first], tokens[pair->second]});
    if (fresh) tokens.push_back(text);
    counts.merge(*pair, at->second);
  }

  return json_text(file_json(options.special, tokens, merges), 1) + "\n";
}

}  // namespace swage::policy
