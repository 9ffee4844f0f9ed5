#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/base/files.hpp"
#include "controller/api/resources.hpp"
#include "controller/core/run_totals.hpp"

namespace swage::controller {

enum class OutErrc {
  in_use,       ///< a live controller holds it
  another_run,  ///< it holds a run, or another run than the one to resume
  not_a_run,    ///< to resume, but no run is there; or other files are
  unwritable,   ///< permission, disk full
};
constexpr FailureKind kind_of(OutErrc) { return FailureKind::give_up; }
struct OutError {
  OutErrc code = OutErrc::unwritable;
  std::string message;  ///< with the remedy
  bool disk_full = false;
};

/// OUT: where a local run lives on disk (design wire.md, section 4). Holds its lock as long as it
/// lives. Everything it writes is whole or absent after a crash.
///   run.json epoch run.yaml summary.json logs/ secrets/ pods/ learner/ checkpoints/
class OutDirectory {
 public:
  /// Makes OUT for a new run, or opens it to resume one: same name, and a file that agrees in what
  /// a run may not change (seed, deviceKind, model, namespace). evaluation_rollouts: absent: those
  /// that the run was started with, or the learner's default for a new run; a run that is resumed
  /// may not change them. Errors: OutErrc; a failed call leaves nothing behind that was not there.
  static Result<std::unique_ptr<OutDirectory>, OutError> open(
      const std::filesystem::path& out, const TrainingRun& run, const std::string& run_text,
      bool resume, std::optional<std::uint64_t> evaluation_rollouts = {});
  ~OutDirectory();
  OutDirectory(const OutDirectory&) = delete;
  OutDirectory& operator=(const OutDirectory&) = delete;

  const std::filesystem::path& root() const { return root_; }
  const std::string& run_uid() const { return run_uid_; }
  /// Of each evaluation round, for the run's whole life.
  std::uint64_t evaluation_rollouts() const { return evaluation_rollouts_; }
  /// A secret of 32 random bytes as hex, made once; mode 0600. Returns its file.
  Result<std::filesystem::path, OutError> secret(const std::string& name);
  /// Raises the stored epoch to 1 + max(it, at_least), durably.
  std::optional<std::uint64_t> raise_epoch(std::uint64_t at_least);
  Result<void, OutError> write_json(const std::string& name, const nlohmann::json& value);
  std::optional<nlohmann::json> read_json(const std::string& name) const;
  /// Totals of earlier lives, zero if there are none.
  RunTotals totals() const;
  Result<void, OutError> save_totals(const RunTotals& totals);

 private:
  OutDirectory(std::filesystem::path root, int lock, std::uint64_t evaluation_rollouts)
      : root_(std::move(root)), lock_(lock), evaluation_rollouts_(evaluation_rollouts) {}
  std::filesystem::path root_;
  int lock_;
  bool fresh_ = false;  ///< holds no run yet: without a run.json it goes with this object
  bool made_ = false;   ///< it was absent before
  std::string run_uid_;
  std::uint64_t evaluation_rollouts_;
};

nlohmann::json to_json(const RunTotals& totals);
RunTotals totals_from(const nlohmann::json& value);

}  // namespace swage::controller
