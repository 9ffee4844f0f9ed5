#pragma once

#include <string>
#include <vector>

#include "rollout_worker/api/renderer.hpp"

namespace swage::rollout_worker::test {

/// Bytes as ids; 256 begins a prompt, 257 a policy message, 258 an observation, 259 ends each.
class ByteRenderer final : public Renderer {
 public:
  static constexpr std::uint32_t kUser = 256, kAssistant = 257, kTool = 258, kEnd = 259;

  std::vector<std::uint32_t> opening(std::string_view task_id,
                                     std::string_view /*directory*/) const override {
    std::vector<std::uint32_t> ids;
    block(kUser, task_id, ids);
    ids.push_back(kAssistant);
    return ids;
  }
  std::vector<std::uint32_t> observations(std::span<const std::string> texts,
                                          bool message_ended) const override {
    std::vector<std::uint32_t> ids;
    if (!message_ended) ids.push_back(kEnd);
    for (const auto& text : texts) block(kTool, text, ids);
    ids.push_back(kAssistant);
    return ids;
  }
  std::vector<std::uint32_t> message(std::string_view text) const override {
    auto ids = encode(text);
    ids.push_back(kEnd);
    return ids;
  }
  std::string message_text(std::span<const std::uint32_t> ids) const override {
    if (!ids.empty() && ids.back() == kEnd) ids = ids.first(ids.size() - 1);
    return decode(ids);
  }
  std::vector<std::uint32_t> encode(std::string_view text) const override {
    std::vector<std::uint32_t> ids;
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }
  std::string decode(std::span<const std::uint32_t> ids) const override {
    std::string text;
    for (const auto id : ids) {
      if (id < 256) {
        text += static_cast<char>(id);
      } else {
        text += "<" + std::to_string(id) + ">";
      }
    }
    return text;
  }
  const std::vector<std::uint32_t>& stop_ids() const override { return stop_ids_; }
  const std::string& name() const override { return name_; }
  const std::string& tokenizer_digest() const override { return digest_; }

 private:
  static void block(std::uint32_t begin, std::string_view text, std::vector<std::uint32_t>& ids) {
    ids.push_back(begin);
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    ids.push_back(kEnd);
  }
  std::vector<std::uint32_t> stop_ids_{kEnd};
  std::string name_ = "bytes";
  std::string digest_ = std::string(64, 'd');
};

}  // namespace swage::rollout_worker::test
