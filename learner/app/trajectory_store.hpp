#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/asio/event.hpp"
#include "learner/adapters/learner_metrics.hpp"
#include "learner/app/group_commit.hpp"
#include "learner/core/ledger.hpp"
#include "swage/v1/trajectory.pb.h"

namespace swage::learner {

/// The log and what it says. Takes trajectories exactly once: looks them up, checks them, appends,
/// and only then answers. Thread: one strand; files on `file_thread`. Life: run() must have
/// returned before it goes.
class TrajectoryStore {
 public:
  struct Parts {
    asio::any_io_executor strand;
    asio::thread_pool& file_thread;  ///< one thread
    Clock& clock;
    LearnerMetrics& metrics;
    std::string verdict_key;
    AdmissionRules rules;
  };

  /// Opens `directory`/log and replays it; blocking. Errors: as SegmentedLog::open; damaged for a
  /// frame that is not what its type says.
  static Result<std::unique_ptr<TrajectoryStore>, LogError> open(std::filesystem::path directory,
                                                                 Parts parts);

  /// Group commit; ends after `stop` when everything queued is on disk. Throws when a sync failed.
  Task<> run(StopSource& stop);

  /// Never fails: every outcome is an answer.
  Task<v1::SubmitAnswer> submit(v1::Trajectory message);

  /// The trajectories of these ids, in order. An id that is not there is a bug.
  Task<Result<std::vector<Trajectory>, LogError>> load(std::vector<std::string> ids);
  /// Serialised v1.Trajectory that occupies the id; nothing if there is none.
  Task<std::optional<std::string>> bytes_of(std::string rollout_id);

  /// Append a frame, then take it into the ledger.
  Task<Result<void, LogError>> record(VersionRecord record);
  Task<Result<void, LogError>> record(BatchRecord record);

  const Ledger& ledger() const { return ledger_; }
  /// Number of the first frame that the ledger has not taken: the log, on its own thread, may be
  /// ahead of it.
  std::uint64_t next_seq() const { return next_seq_; }
  Event& changed() { return changed_; }  ///< the ledger or disk_full() changed

  std::uint64_t duplicates() const { return duplicates_; }
  std::uint64_t rejected() const { return rejected_; }
  /// The last append found no space.
  bool disk_full() const { return disk_full_; }

 private:
  TrajectoryStore(std::filesystem::path directory, Parts parts, std::unique_ptr<SegmentedLog> log);
  Result<void, LogError> replay();
  Task<v1::SubmitAnswer> take(v1::Trajectory message, Trajectory trajectory);
  Task<Result<std::uint64_t, LogError>> append(FrameType type, std::string payload);
  Task<> keep_rejected(std::string name, std::string bytes, std::string reason);

  std::filesystem::path directory_;
  Parts parts_;
  std::unique_ptr<SegmentedLog> log_;
  GroupCommit commit_;
  Event changed_;
  Ledger ledger_;
  std::uint64_t next_seq_ = 1;
  std::set<std::string> in_flight_;
  bool disk_full_ = false;
  std::uint64_t duplicates_ = 0;
  std::uint64_t rejected_ = 0;
};

}  // namespace swage::learner
