#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swage::rollout_worker {

/// Text ↔ token ids of one chat format, turn by turn: ids that exist never change. Pure.
/// Text from tasks, tools and judges never becomes a special token.
class Renderer {
 public:
  virtual ~Renderer() = default;
  /// The trajectory's opening, up to where the policy speaks; never empty.
  virtual std::vector<std::uint32_t> opening(std::string_view task_id,
                                             std::string_view work_directory) const = 0;
  /// What follows a policy message: its end where the policy did not end it itself, one block per
  /// text, and the opening of the next message.
  virtual std::vector<std::uint32_t> observations(std::span<const std::string> texts,
                                                  bool message_ended) const = 0;
  /// What a policy would have to sample to say `text`, with the stop id.
  virtual std::vector<std::uint32_t> message(std::string_view text) const = 0;
  /// Bytes of a sampled message, the stop id at its end left out.
  virtual std::string message_text(std::span<const std::uint32_t> ids) const = 0;
  /// Plain text and back.
  virtual std::vector<std::uint32_t> encode(std::string_view text) const = 0;
  virtual std::string decode(std::span<const std::uint32_t> ids) const = 0;
  /// Sampling one of these ends a message. Not empty.
  virtual const std::vector<std::uint32_t>& stop_ids() const = 0;
  virtual const std::string& name() const = 0;
  virtual const std::string& tokenizer_digest() const = 0;
};

}  // namespace swage::rollout_worker
