#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "policy/api/weights.hpp"

namespace swage::learner {

/// One trajectory as the trainer sees it. Token p of `positions` is predicted from hidden state
/// p − 1, so no position is 0. Everything below is indexed by policy token, k = 1…n.
struct Sequence {
  std::string rollout_id;
  std::vector<std::uint32_t> ids;        ///< [T]
  std::vector<std::uint32_t> positions;  ///< [n], ascending, > 0
};

/// What one loss needs beside the sequence; vectors have n entries or are empty.
struct ActorTargets {
  std::vector<double> advantages;
  std::vector<double> old_logprobs;  ///< NaN: use the trainer's own, without gradient (ratio 1)
  std::vector<double> weights;       ///< a: loss = Σ a·L
  /// 1 where the current weights sampled the token: kl_behaviour_sum takes only these. Older ones
  /// differ by what was learned since. Empty: all count.
  std::vector<std::uint8_t> current = {};
};
struct CriticTargets {
  std::vector<double> returns;
  std::vector<double> old_values;  ///< empty: no value clip
  std::vector<double> weights;
};

struct ClipSettings {
  double low = 0.2;
  double high = 0.28;
  double dual = 3.0;   ///< 0: off
  double value = 0.5;  ///< 0: off
};

/// What a gradient step did. Sums over policy tokens are left to the reader: `tokens` divides.
struct StepFigures {
  bool skipped = false;     ///< something was not finite: no weight changed
  std::string skip_detail;  ///< rollout and position of the first loss that was not finite
  double loss = 0;          ///< Σ a·L
  double grad_norm = 0;     ///< before clipping
  std::uint64_t tokens = 0;
  double entropy_sum = 0;
  double kl_behaviour_sum = 0;  ///< k3 of logp − old at current tokens that have an old one
  std::uint64_t kl_tokens = 0;
  std::uint64_t clipped_low = 0;
  std::uint64_t clipped_high = 0;
  double ratio_sum = 0;
  double ratio_square_sum = 0;
  std::uint64_t missing_logprobs = 0;
};

/// An immutable copy of the policy's weights: float32, one flat buffer.
struct WeightSnapshot {
  policy::WeightLayout layout;
  std::string buffer;
};

struct TrainerError {
  enum class Code {
    io,           ///< the disk said no; another try may succeed
    disk_full,    ///< no space is left; another try may succeed
    wrong_model,  ///< the files hold another model
    damaged,      ///< files are missing or not what they should be
  };
  Code code = Code::io;
  std::string message;
};

constexpr FailureKind kind_of(const TrainerError& error) {
  switch (error.code) {
    case TrainerError::Code::io:
    case TrainerError::Code::disk_full:
      return FailureKind::retry;
    case TrainerError::Code::wrong_model:
    case TrainerError::Code::damaged:
      return FailureKind::give_up;
  }
  return FailureKind::give_up;
}

/// Policy, critic and their optimisers. Blocking: every call computes on the calling thread (and
/// torch's own). Thread: one at a time, always the same. The same calls with the same arguments
/// give the same weights.
class Trainer {
 public:
  virtual ~Trainer() = default;

  /// V at each policy token, [n] for each sequence. No gradient.
  virtual std::vector<std::vector<double>> values(std::span<const Sequence> sequences) = 0;
  /// log softmax(z/τ) of each policy token, [n] for each sequence. No gradient.
  virtual std::vector<std::vector<double>> logprobs(std::span<const Sequence> sequences) = 0;

  /// One optimiser step on Σ a·(−logp). weights: [n] for each sequence. Temperature 1.
  virtual StepFigures imitation_step(std::span<const Sequence> sequences,
                                     std::span<const std::vector<double>> weights,
                                     double learning_rate) = 0;
  /// One optimiser step on the clipped policy loss.
  virtual StepFigures actor_step(std::span<const Sequence> sequences,
                                 std::span<const ActorTargets> targets, double learning_rate) = 0;
  /// One optimiser step on the (clipped) value loss.
  virtual StepFigures critic_step(std::span<const Sequence> sequences,
                                  std::span<const CriticTargets> targets, double learning_rate) = 0;

  /// Critic := the policy's trunk with a zero head; its optimiser starts afresh.
  virtual void reset_critic() = 0;
  /// The policy's optimiser starts afresh, at a change of stage.
  virtual void reset_actor_optimiser() = 0;

  virtual std::shared_ptr<const WeightSnapshot> snapshot() = 0;

  /// Writes `directory`/policy, `directory`/critic (Hugging Face directories) and the optimisers'
  /// moments. The directory exists; files are not synced.
  virtual Result<void, TrainerError> save(const std::filesystem::path& directory) = 0;
  /// Takes up what save() wrote, or changes nothing.
  virtual Result<void, TrainerError> load(const std::filesystem::path& directory) = 0;

  /// Of the model, 64 hex digits: trajectories and weight manifests carry it.
  virtual std::string config_digest() const = 0;
  virtual std::uint32_t vocabulary() const = 0;
  virtual std::uint64_t parameters() const = 0;
};

}  // namespace swage::learner
