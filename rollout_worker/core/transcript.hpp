#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rollout_worker/api/policy.hpp"
#include "rollout_worker/api/trajectory.hpp"

namespace swage::rollout_worker {

/// A trajectory's tokens. Append-only; the arrays have equal lengths; the mask is 1 exactly on what
/// the actor produced; spans are ascending, disjoint and cover nothing else. Pure.
class Transcript {
 public:
  void append_context(std::span<const std::uint32_t> ids);
  /// False: log-probabilities or version runs do not agree with the ids, or versions fall; nothing
  /// is appended.
  [[nodiscard]] bool append_sampled(const PolicyMessage& message);

  std::uint32_t size() const { return static_cast<std::uint32_t>(ids_.size()); }
  std::span<const std::uint32_t> ids() const { return ids_; }
  /// What has been appended since the last call: the policy has not seen it.
  std::vector<std::uint32_t> take_unseen();
  /// Index of the last token of the actor; nothing if there is none.
  std::optional<std::uint32_t> last_sampled() const;
  void store_in(Trajectory& trajectory) const;

 private:
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint8_t> mask_;
  std::vector<float> logprobs_;
  std::vector<VersionSpan> spans_;
  std::size_t seen_ = 0;
};

}  // namespace swage::rollout_worker
