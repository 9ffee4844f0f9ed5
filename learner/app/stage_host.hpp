#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/asio/blocking.hpp"
#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "learner/adapters/checkpoint_store.hpp"
#include "learner/adapters/learner_metrics.hpp"
#include "learner/adapters/steps_csv.hpp"
#include "learner/api/status.hpp"
#include "learner/api/trainer.hpp"
#include "learner/app/publisher.hpp"
#include "learner/app/trajectory_store.hpp"
#include "learner/core/run_state.hpp"

namespace swage::learner {

/// What every stage needs: the run's state, the trainer on its thread, durable writes that wait out
/// a full disk, pauses, conditions, and the status that the controller sees. Thread: one strand.
/// Life: as long as the stages.
class StageHost {
 public:
  struct Parts {
    asio::any_io_executor strand;
    Clock& clock;
    LearnerMetrics& metrics;
    TrajectoryStore& store;
    Publisher& publisher;
    Trainer& trainer;
    asio::thread_pool& trainer_thread;  ///< one thread, the only one that touches `trainer`
    CheckpointStore checkpoints;
    StepsCsv csv;
    std::filesystem::path tokenizer;  ///< copied into each checkpoint's policy/
    Settings settings;
    RunIdentity identity;
    std::uint64_t seed = 1;
  };
  StageHost(Parts parts, RunState state);

  const Settings& settings() const { return parts_.settings; }
  std::uint64_t seed() const { return parts_.seed; }
  TrajectoryStore& store() { return parts_.store; }
  LearnerMetrics& metrics() { return parts_.metrics; }
  Clock& clock() { return parts_.clock; }
  Trainer& trainer() { return parts_.trainer; }
  RunState& state() { return state_; }
  Guardrails& guard() { return guard_; }
  CheckpointStore& checkpoints() { return parts_.checkpoints; }

  /// Runs `fn` on the trainer's thread.
  template <class Fn>
  Task<std::invoke_result_t<Fn&>> compute(Fn fn) {
    return run_blocking(parts_.trainer_thread, std::move(fn));
  }

  /// Waits while the run is paused. False: stopping.
  Task<bool> running(StopSource& stop);
  /// A checkpoint that is written meanwhile holds the pause, and the next start begins with it.
  void pause(const std::string& reason, const std::string& message);
  /// Ends the pause of this id; another id is ignored.
  void resume(const std::string& pause_id);

  /// Repeats `write` until it succeeds, pausing with DiskFull while there is no space. False:
  /// stopping. Throws for any other failure.
  using Write = std::function<Task<Result<void, TrainerError>>()>;
  Task<bool> durable(std::string what, Write write, StopSource& stop);
  /// The same for frames of the log.
  template <class Record>
  Task<bool> record(Record frame, StopSource& stop);

  /// What watches a stage begins afresh; the conditions of the last one end.
  void enter_stage();

  /// Snapshot, version frame, then to the policy servers, whom a stop does not wait for. step:
  /// optimiser steps done in the stage. False: the disk was full until the stop.
  Task<bool> publish(std::uint64_t step, StopSource& stop);
  /// After a start: the checkpoint's weights under their version if that is the newest there is,
  /// else under a new one. Weights that a guardrail held back wait for the resume.
  Task<bool> publish_restored(StopSource& stop);
  Task<bool> checkpoint(bool boundary, StopSource& stop);
  Task<bool> row(StepRow row, StopSource& stop);

  /// While on, weights and state do not belong together: no checkpoint may be written.
  void set_dirty(bool on) { dirty_ = on; }
  bool dirty() const { return dirty_; }

  void set_training(bool on);
  void set_progress(std::string text);
  void set_target(std::uint64_t target, std::uint64_t steps_total);
  void set_condition(Condition condition);
  /// From now on nothing of these groups is waited for or trained on.
  void cancel_groups(const std::vector<std::uint64_t>& groups);
  void changed();  ///< the status did
  void on_change(std::function<void()> fn) { on_change_ = std::move(fn); }
  Status status() const;

 private:
  Task<> send(std::shared_ptr<const WeightSnapshot> snapshot, std::uint64_t version,
              std::uint64_t step, Duration patience, StopSource& stop);
  Result<void, TrainerError> write_checkpoint(const RunState& state, bool boundary, bool healthy);

  Parts parts_;
  RunState state_;
  Guardrails guard_;
  Event resumed_;
  std::function<void()> on_change_;
  std::optional<Pause> pause_;
  std::uint64_t pauses_ = 0;
  std::map<std::string, Condition> conditions_;
  std::uint64_t target_ = 0;
  std::uint64_t steps_total_ = 0;
  bool training_ = false;
  bool dirty_ = false;
  std::string progress_;
};

TrainerError to_trainer_error(const LogError& error);

template <class Record>
Task<bool> StageHost::record(Record frame, StopSource& stop) {
  struct Append {
    static Task<Result<void, TrainerError>> to(TrajectoryStore& store, Record copy) {
      const auto done = co_await store.record(copy);
      if (!done) co_return tl::unexpected(to_trainer_error(done.error()));
      co_return Result<void, TrainerError>{};
    }
  };
  Write write = [this, frame] { return Append::to(parts_.store, frame); };
  co_return co_await durable("the trajectory log", std::move(write), stop);
}

}  // namespace swage::learner
