#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "learner/api/trainer.hpp"

namespace swage::learner {

/// One checkpoint as MANIFEST.json describes it.
struct CheckpointInfo {
  std::filesystem::path directory;
  std::uint64_t ordinal = 0;  ///< rises with every checkpoint written
  bool boundary = false;      ///< at a change of stage: kept
  bool healthy = false;       ///< no guardrail was alerting
};

/// `<directory>/<name>/`: policy/, critic/ and what else the trainer writes, state.json, and
/// MANIFEST.json with every file's size and SHA-256. Written as `tmp-…`, files and directory
/// synced, renamed, parent synced: after a crash a checkpoint is whole or not there. Blocking; one
/// thread.
class CheckpointStore {
 public:
  /// Removes what a crash left behind.
  static Result<CheckpointStore, TrainerError> open(std::filesystem::path directory);

  /// fill: writes the trainer's files into the directory it is given. state: text of state.json.
  /// A checkpoint of the same name is replaced. Keeps the last three, boundaries and the newest
  /// healthy one; removes the others.
  Result<void, TrainerError> write(
      const std::string& name, const std::string& state, bool boundary, bool healthy,
      const std::function<Result<void, TrainerError>(const std::filesystem::path&)>& fill);

  /// Newest first; damaged ones too, as far as their manifest can be read.
  std::vector<CheckpointInfo> list() const;

  /// Every file that MANIFEST.json names is there with its size and digest. Errors: damaged.
  static Result<void, TrainerError> verify(const std::filesystem::path& checkpoint);

  /// Text of state.json.
  static Result<std::string, TrainerError> state_of(const std::filesystem::path& checkpoint);

  /// How many directories there are that look like checkpoints but whose manifest is unreadable.
  std::size_t unreadable() const;

 private:
  explicit CheckpointStore(std::filesystem::path directory) : directory_(std::move(directory)) {}
  void prune() const;

  std::filesystem::path directory_;
  std::uint64_t next_ordinal_ = 1;
};

}  // namespace swage::learner
