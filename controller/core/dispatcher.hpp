#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "common/base/time.hpp"
#include "controller/api/learner_view.hpp"
#include "controller/api/rollout.hpp"
#include "controller/core/capacity.hpp"
#include "controller/core/rollout_id.hpp"

namespace swage::controller {

enum class RolloutState {
  planned,  ///< waits for a worker and a sandbox
  claimed,  ///< has a sandbox
  sent,     ///< the assignment went down a worker's stream
  running,  ///< the worker reported it
};
const char* rollout_state_name(RolloutState state);

struct LiveRollout {
  RolloutName name;
  Attempt attempt;
  RolloutState state = RolloutState::planned;
  std::string worker;
  std::string sandbox_uid;
  std::uint32_t turns = 0;
  std::uint32_t tokens = 0;
};

/// What the caller has to do.
struct FreeSandbox {
  std::string uid;
  bool operator==(const FreeSandbox&) const = default;
};
struct CancelOnWorker {
  std::string worker;
  Attempt attempt;
  std::string reason;
  bool operator==(const CancelOnWorker&) const = default;
};
struct Reissued {
  Attempt next;
  std::string cause;
  bool operator==(const Reissued&) const = default;
};
struct GroupReplaced {
  Stage stage = Stage::none;
  std::uint64_t group = 0;
  std::string cause;
  bool operator==(const GroupReplaced&) const = default;
};
struct Completed {
  Attempt attempt;
  bool operator==(const Completed&) const = default;
};
using DispatchAction =
    std::variant<FreeSandbox, CancelOnWorker, Reissued, GroupReplaced, Completed>;

struct DispatchSettings {
  std::string run_uid;
  std::uint64_t max_running = 256;
  std::uint32_t max_attempts = 3;
  Duration silence = std::chrono::seconds(20);       ///< of a worker's stream
  Duration report_window = std::chrono::seconds(2);  ///< after a worker's hello, to say what it has
  Duration first_pause = std::chrono::seconds(1);  ///< of starts, once a group is given up; doubles
  Duration longest_pause = std::chrono::seconds(30);
  /// Above zero: an earlier dispatcher's rollouts may still run. For so long nothing is planned,
  /// and what workers report is taken over.
  Duration take_over = {};
};

/// Totals since the controller started.
struct DispatchCounters {
  std::uint64_t completed = 0;
  std::uint64_t reissued = 0;
  std::uint64_t infrastructure_failed = 0;
  std::uint64_t groups_replaced = 0;
  std::uint64_t replaced_in_a_row = 0;  ///< groups, since the last rollout completed
};

/// Decides which rollout runs next, on which worker, and what becomes of it:
///   planned → claimed → sent → running → completed;
///   lost → planned (attempt + 1); after max_attempts its group is given up and another one
///   planned. While groups are given up and no rollout completes, starts pause for longer each
///   time: what ails them (no sandbox works, no disk space) is not mended by haste.
/// Invariant: a rollout_id is live at most once, and never again after it completed.
/// Pure: told events and `now`, it queues actions; take_actions() hands them out.
class Dispatcher {
 public:
  explicit Dispatcher(DispatchSettings settings);

  // The learner.
  /// All ids in the learner's log, after each attaching. Nothing is planned before the first call.
  void learner_accepted(const std::vector<std::string>& ids);
  void learner_status(const LearnerStatus& status);
  void learner_gone();
  void suspend(bool suspended) { suspended_ = suspended; }

  // Workers.
  void worker_joined(const std::string& worker, std::uint32_t capacity, TimePoint now);
  void worker_heard(const std::string& worker, TimePoint now);
  void worker_reported(const std::string& worker, const RolloutNews& news, TimePoint now);
  /// Returns whether this was news: a worker repeats what ended lately after it reconnected. News
  /// may come after the learner's, whose next stage has dropped the rollout here already.
  bool worker_ended(const std::string& worker, const RolloutEnd& end, TimePoint now);
  /// Its stream broke; it may come back within the silence bound.
  void worker_left(const std::string& worker, TimePoint now);
  /// Its process has ended: what it had is lost now.
  void worker_died(const std::string& worker, TimePoint now);
  /// Applies the time rules. Call at least once a second.
  void tick(TimePoint now);

  // Starting rollouts.
  /// The next rollout to start and on which worker, while there is capacity; it stays `planned`.
  struct Start {
    Attempt attempt;
    RolloutName name;
    std::string worker;
  };
  std::optional<Start> next(TimePoint now);
  void claimed(const Attempt& attempt, const std::string& worker, const std::string& sandbox_uid);
  void sent(const Attempt& attempt, TimePoint now);
  /// Whether this attempt is live here.
  bool holds(const Attempt& attempt) const;
  /// The sandbox died before its assignment was sent, or the worker's stream broke under it.
  void not_sent(const Attempt& attempt);

  std::vector<DispatchAction> take_actions();

  const std::map<std::string, LiveRollout>& live() const { return live_; }
  const DispatchCounters& counters() const { return counters_; }
  const LearnerStatus& status() const { return status_; }
  bool attached() const { return attached_; }
  /// Every rollout of the run that the learner has, all stages.
  std::size_t accepted_total() const { return completed_.size(); }
  InHand in_hand() const;
  /// Cancels every rollout, e.g. at shutdown. They are not planned again.
  void cancel_all(const std::string& reason);

 private:
  struct Worker {
    std::uint32_t capacity = 0;
    bool connected = false;
    TimePoint heard;
    bool silent = false;                   ///< nothing heard for the silence bound
    std::optional<TimePoint> reports_due;  ///< set by hello: what stays unreported then is lost
    std::set<std::string> unreported;      ///< what it had at that hello and has not named since
  };

  bool may_plan() const {
    return attached_ && known_ && !suspended_ && !holding_ && !status_.pause;
  }
  bool take_over(const std::string& worker, const RolloutNews& news);
  void plan();
  void plan_member(const RolloutName& name);
  void rebuild_stage();
  void lose(const std::string& rollout_id, const std::string& cause, TimePoint now);
  void lose_all_of(const std::string& worker, const std::string& cause, TimePoint now);
  void replace_group(RolloutName name, const std::string& cause);
  void pause_starts(TimePoint now);
  void drop(const std::string& rollout_id, const std::string& reason);
  void complete(const std::string& rollout_id);
  std::size_t load_of(const std::string& worker) const;
  /// Whether the worker has been sent something; load_of counts what is only claimed for it too.
  bool has_work(const std::string& worker) const;

  DispatchSettings settings_;
  LearnerStatus status_;
  bool attached_ = false;  ///< a learner is attached and has sent a status
  bool known_ = false;     ///< the learner has said what it holds
  bool suspended_ = false;
  bool holding_ = false;  ///< waits for workers to report what an earlier dispatcher gave them
  std::optional<TimePoint> hold_until_;
  std::map<std::string, LiveRollout> live_;
  std::map<std::string, Worker> workers_;
  std::set<std::string> completed_;   ///< every accepted id of the run
  std::set<RolloutName> accepted_;    ///< of the current stage
  std::set<RolloutName> gaps_;        ///< missing members of earlier groups
  std::set<std::uint64_t> given_up_;  ///< groups of this stage that we gave up
  std::uint64_t next_group_ = 0;
  Duration pause_{};  ///< the last one of starts; zero once a rollout completes
  TimePoint paused_until_;
  DispatchCounters counters_;
  std::vector<DispatchAction> actions_;
};

}  // namespace swage::controller
