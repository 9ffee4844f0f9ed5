#include "rollout_worker/core/transcript.hpp"

#include <limits>
#include <numeric>

namespace swage::rollout_worker {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

bool consistent(const PolicyMessage& message, std::uint64_t newest) {
  const auto n = message.ids.size();
  if (!message.behaviour_logprobs.empty() && message.behaviour_logprobs.size() != n) return false;
  if (message.runs.empty()) return true;
  std::size_t covered = 0;
  for (const auto& run : message.runs) {
    if (run.weight_version < newest) return false;
    newest = run.weight_version;
    covered += run.tokens;
  }
  return covered == n;
}

}  // namespace

void Transcript::append_context(std::span<const std::uint32_t> ids) {
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  mask_.resize(ids_.size(), 0);
  logprobs_.resize(ids_.size(), kNone);
}

bool Transcript::append_sampled(const PolicyMessage& message) {
  if (!consistent(message, spans_.empty() ? 0 : spans_.back().weight_version)) return false;
  auto begin = size();
  for (const auto& run : message.runs) {
    if (run.tokens == 0) continue;
    auto& spans = spans_;
    if (!spans.empty() && spans.back().end == begin &&
        spans.back().weight_version == run.weight_version) {
      spans.back().end += run.tokens;
    } else {
      spans.push_back({begin, begin + run.tokens, run.weight_version});
    }
    begin += run.tokens;
  }
  ids_.insert(ids_.end(), message.ids.begin(), message.ids.end());
  mask_.resize(ids_.size(), 1);
  logprobs_.insert(logprobs_.end(), message.behaviour_logprobs.begin(),
                   message.behaviour_logprobs.end());
  logprobs_.resize(ids_.size(), kNone);
  seen_ = ids_.size();  // the actor knows what it said itself
  return true;
}

std::vector<std::uint32_t> Transcript::take_unseen() {
  std::vector<std::uint32_t> unseen(ids_.begin() + static_cast<std::ptrdiff_t>(seen_), ids_.end());
  seen_ = ids_.size();
  return unseen;
}

std::optional<std::uint32_t> Transcript::last_sampled() const {
  for (auto i = mask_.size(); i > 0; --i)
    if (mask_[i - 1] == 1) return static_cast<std::uint32_t>(i - 1);
  return std::nullopt;
}

void Transcript::store_in(Trajectory& trajectory) const {
  trajectory.token_ids = ids_;
  trajectory.loss_mask = mask_;
  trajectory.behaviour_logprobs = logprobs_;
  trajectory.version_spans = spans_;
}

}  // namespace swage::rollout_worker
