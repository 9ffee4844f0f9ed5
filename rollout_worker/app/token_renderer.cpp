#include "rollout_worker/app/token_renderer.hpp"

#include <utility>

#include "sandbox/api/tool_schema.hpp"

namespace swage::rollout_worker {
namespace {

class TokenRenderer final : public Renderer {
 public:
  TokenRenderer(std::string name, policy::Tokenizer tokenizer,
                std::unique_ptr<policy::Renderer> format)
      : name_(std::move(name)),
        tokenizer_(std::move(tokenizer)),
        format_(std::move(format)),
        stop_ids_(format_->stop_ids()) {}

  std::vector<std::uint32_t> opening(std::string_view task_id,
                                     std::string_view work_directory) const override {
    policy::PromptParts parts;
    parts.task_name = task_id;
    parts.system =
        "You write fast kernels. Call tools as <tool_call>{\"name\": …, \"arguments\": "
        "{…}}</tool_call>. Tools, with JSON schemas of their arguments:\n" +
        std::string(sandbox::tool_schemas_json());
    parts.user = "Your work directory is " + std::string(work_directory) +
                 ". Read SKILL.md there first and follow it. Then make model.py faster.";
    return followed_by_message(format_->prompt_ids(parts));
  }
  std::vector<std::uint32_t> observations(std::span<const std::string> texts,
                                          bool message_ended) const override {
    return followed_by_message(format_->observation_ids(texts, message_ended));
  }
  std::vector<std::uint32_t> message(std::string_view text) const override {
    return format_->assistant_message_ids(text);
  }
  std::string message_text(std::span<const std::uint32_t> ids) const override {
    return format_->message_text(ids);
  }
  std::vector<std::uint32_t> encode(std::string_view text) const override {
    return tokenizer_.encode(text, false);
  }
  std::string decode(std::span<const std::uint32_t> ids) const override {
    return tokenizer_.decode(ids);
  }
  const std::vector<std::uint32_t>& stop_ids() const override { return stop_ids_; }
  const std::string& name() const override { return name_; }
  const std::string& tokenizer_digest() const override { return tokenizer_.digest(); }

 private:
  std::vector<std::uint32_t> followed_by_message(std::vector<std::uint32_t> ids) const {
    const auto begin = format_->assistant_begin_ids();
    ids.insert(ids.end(), begin.begin(), begin.end());
    return ids;
  }

  const std::string name_;
  const policy::Tokenizer tokenizer_;
  const std::unique_ptr<policy::Renderer> format_;
  const std::vector<std::uint32_t> stop_ids_;
};

}  // namespace

Result<std::unique_ptr<Renderer>, policy::TokenizerError> make_token_renderer(
    std::string name, policy::Tokenizer tokenizer) {
  auto format = policy::make_renderer(name, tokenizer);
  if (!format) return tl::unexpected(format.error());
  return std::make_unique<TokenRenderer>(std::move(name), std::move(tokenizer), std::move(*format));
}

}  // namespace swage::rollout_worker
