#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "common/base/result.hpp"
#include "learner/api/trainer.hpp"

namespace swage::learner {

/// One row of steps.csv: one optimiser step (a PPO step's epochs together). Absent: empty field.
struct StepRow {
  std::string stage;
  std::uint64_t step = 0;  ///< from 1
  std::uint64_t weight_version = 0;
  std::uint64_t trajectories = 0;
  std::uint64_t tokens = 0;  ///< policy tokens
  std::optional<double> reward_mean = {};
  std::optional<double> length_mean = {};
  std::optional<double> turns_mean = {};
  std::optional<double> truncated_share = {};
  std::optional<double> policy_loss = {};
  std::optional<double> value_loss = {};
  std::optional<double> entropy = {};
  std::optional<double> kl_behaviour = {};
  std::optional<double> clip_low = {};
  std::optional<double> clip_high = {};
  std::optional<double> explained_variance = {};
  std::optional<double> grad_norm_actor = {};
  std::optional<double> grad_norm_critic = {};
  std::optional<double> effective_sample_size = {};
  std::optional<double> learning_rate = {};
  std::uint64_t staleness_max = 0;
  bool skipped = false;
  double wall_seconds = 0;   ///< the step took
  std::int64_t unix_ms = 0;  ///< when it ended
};

/// OUT/steps.csv. Rows are appended and reach the file at once; a resume cuts it to the length that
/// its checkpoint knew. Blocking, short writes; one thread.
class StepsCsv {
 public:
  /// length: what the checkpoint knew, 0 for a new file. Errors: io, disk_full.
  static Result<StepsCsv, TrainerError> open(std::filesystem::path file, std::uint64_t length);
  Result<void, TrainerError> append(const StepRow& row);
  std::uint64_t length() const { return length_; }

  static std::string header();
  static std::string line(const StepRow& row);

 private:
  explicit StepsCsv(std::filesystem::path file) : file_(std::move(file)) {}
  Result<void, TrainerError> add(const std::string& text);

  std::filesystem::path file_;
  std::uint64_t length_ = 0;
};

}  // namespace swage::learner
