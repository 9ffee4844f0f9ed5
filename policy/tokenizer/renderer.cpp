#include "policy/tokenizer/renderer.hpp"

namespace swage::policy {
namespace {

/// `<|user|>name<|end|>` `<|assistant|>message<|end|>` `<|tool|>result<|end|>` …
class TinyRenderer final : public Renderer {
 public:
  TinyRenderer(Tokenizer tokenizer, TokenId user, TokenId assistant, TokenId tool, TokenId end)
      : tokenizer_(std::move(tokenizer)),
        user_(user),
        assistant_(assistant),
        tool_(tool),
        end_(end) {}

  std::vector<TokenId> prompt_ids(const PromptParts& parts) const override {
    std::vector<TokenId> out;
    add_block(user_, parts.task_name, out);
    return out;
  }
  std::vector<TokenId> assistant_begin_ids() const override { return {assistant_}; }
  std::vector<TokenId> assistant_message_ids(std::string_view text) const override {
    auto out = tokenizer_.encode(text, false);
    out.push_back(end_);
    return out;
  }
  std::vector<TokenId> stop_ids() const override { return {end_}; }
  std::string message_text(std::span<const TokenId> sampled) const override {
    if (!sampled.empty() && sampled.back() == end_) sampled = sampled.first(sampled.size() - 1);
    return tokenizer_.decode(sampled);
  }
  std::vector<TokenId> observation_ids(std::span<const std::string> results,
                                       bool message_closed) const override {
    std::vector<TokenId> out;
    if (!message_closed) out.push_back(end_);
    for (const auto& result : results) add_block(tool_, result, out);
    return out;
  }

 private:
  void add_block(TokenId begin, std::string_view text, std::vector<TokenId>& out) const {
    out.push_back(begin);
    const auto ids = tokenizer_.encode(text, false);
    out.insert(out.end(), ids.begin(), ids.end());
    out.push_back(end_);
  }

  Tokenizer tokenizer_;
  TokenId user_, assistant_, tool_, end_;
};

}  // namespace

std::vector<std::string> tiny_special_tokens() {
  return {"<|user|>", "<|assistant|>", "<|tool|>", "<|end|>"};
}

Result<std::unique_ptr<Renderer>, TokenizerError> make_renderer(std::string_view name,
                                                                Tokenizer tokenizer) {
  if (name != "tiny")
    return tl::unexpected(TokenizerError{TokenizerErrc::unsupported,
                                         "renderer `" + std::string(name) + "`: known is `tiny`"});
  std::vector<TokenId> ids;
  for (const auto& text : tiny_special_tokens()) {
    const auto id = tokenizer.id_of(text);
    if (!id || !tokenizer.is_special(*id))
      return tl::unexpected(TokenizerError{
          TokenizerErrc::malformed, "renderer `tiny`: the tokenizer has no special token " + text});
    ids.push_back(*id);
  }
  return std::make_unique<TinyRenderer>(std::move(tokenizer), ids[0], ids[1], ids[2], ids[3]);
}

}  // namespace swage::policy
