#include "policy/tokenizer/trainer.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "common/base/check.hpp"
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

/// Pair counts over the words, kept up to date as pairs are merged.
class PairCounts {
 public:
  explicit PairCounts(std::vector<Word>& words) : words_(words) {
    for (std::size_t i = 0; i < words_.size(); ++i) add_word(i, words_[i].count);
  }

  /// Most frequent, ties to the lowest pair; nothing if none reaches `min_count`.
  std::optional<Pair> best(std::int64_t min_count) const {
    if (order_.empty() || -order_.begin()->first < min_count) return std::nullopt;
    return order_.begin()->second;
  }
  /// The pair is never the best again.
  void forbid(Pair pair) {
    order_.erase({-counts_[pair], pair});
    forbidden_.insert(pair);
  }
  void merge(Pair pair, TokenId made) {
    const auto touched = where_[pair];
    for (const std::size_t i : touched) {
      add_word(i, -words_[i].count);
      auto& ids = words_[i].ids;
      std::vector<TokenId> now;
      for (std::size_t k = 0; k < ids.size(); ++k) {
        const bool hit = k + 1 < ids.size() && Pair(ids[k], ids[k + 1]) == pair;
        now.push_back(hit ? made : ids[k]);
        if (hit) ++k;
      }
      ids = std::move(now);
      add_word(i, words_[i].count);
    }
  }

 private:
  void add_word(std::size_t index, std::int64_t count) {
    const auto& ids = words_[index].ids;
    for (std::size_t k = 0; k + 1 < ids.size(); ++k) {
      const Pair pair{ids[k], ids[k + 1]};
      auto& total = counts_[pair];
      order_.erase({-total, pair});
      total += count;
      if (total > 0 && !forbidden_.contains(pair)) order_.insert({-total, pair});
      if (count > 0) where_[pair].insert(index);
    }
  }

  std::vector<Word>& words_;
  std::map<Pair, std::int64_t> counts_;
  std::set<Pair> forbidden_;
  std::map<Pair, std::set<std::size_t>> where_;    // words that hold the pair, or once did
  std::set<std::pair<std::int64_t, Pair>> order_;  // by -count, then pair
};

}  // namespace

std::string train_tokenizer(const TrainerOptions& options, std::span<const std::string> texts) {
  check(options.vocabulary >= options.special.size() + 256, "vocabulary below special + 256");
  std::vector<std::string> tokens = options.special;
  std::vector<TokenId> of_byte(256);
  // The alphabet in code point order, as tokenizers' trainer lays it; UTF-8 sorts the same way.
  std::vector<std::pair<std::string, std::size_t>> alphabet;
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

  Json added = Json::array();
  for (std::size_t i = 0; i < options.special.size(); ++i)
    added.push_back({{"id", i},
                     {"content", options.special[i]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  Json vocabulary = Json::object();
  for (std::size_t i = 0; i < tokens.size(); ++i) vocabulary[tokens[i]] = i;
  const Json file = {{"version", "1.0"},
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
  return file.dump(1) + "\n";
}

}  // namespace swage::policy
