#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/time.hpp"
#include "rollout_worker/api/policy.hpp"
#include "rollout_worker/api/renderer.hpp"
#include "rollout_worker/api/rollout.hpp"
#include "rollout_worker/api/sandbox.hpp"
#include "rollout_worker/api/trajectory.hpp"
#include "rollout_worker/core/tool_call_parser.hpp"
#include "rollout_worker/core/transcript.hpp"
#include "rollout_worker/core/work_clock.hpp"

namespace swage::rollout_worker {

/// What happened to a rollout. SandboxEvent's members come from its sandbox.
namespace event {
struct SandboxOpened {
  SandboxIdentity identity;
};
struct SandboxLost {
  std::string cause;  ///< sandbox_lost, sandbox_wrong_pod
};
struct PolicySpoke {
  PolicyMessage message;
  PolicyIdentity identity;
};
struct PolicyLost {
  std::string cause;  ///< policy_lost, policy_incompatible
};
struct Judged {
  std::uint64_t number = 0;  ///< of the evaluation
  Judgement judgement;
};
struct EvaluationLost {
  std::uint64_t number = 0;
  std::string cause;  ///< pool_lost, …
};
struct Delivered {
  Delivery delivery;
};
struct DeliveryGivenUp {};  ///< only for a record that was kept for diagnosis
struct TimeIsUp {};         ///< wake_at() has come
struct Cancelled {};        ///< the controller asked for it
struct CutOff {};           ///< the worker goes away: end at once, whatever is under way
}  // namespace event

using LoopEvent =
    std::variant<event::SandboxOpened, WorkLaid, ToolOutcome, EvaluationAsk, WorkPacked,
                 event::SandboxLost, event::PolicySpoke, event::PolicyLost, event::Judged,
                 event::EvaluationLost, event::Delivered, event::DeliveryGivenUp, event::TimeIsUp,
                 event::Cancelled, event::CutOff>;

/// What to do about it.
namespace action {
struct Generate {
  std::vector<std::uint32_t> append;
  std::uint32_t max_tokens = 1;
};
struct StopGenerating {};
struct Tell {
  SandboxOrder order;
};
struct Evaluate {
  std::uint64_t number = 0;  ///< unique in the rollout; part of the request id
  EvaluationMode mode = EvaluationMode::verify;
  PackedWork work;
  std::vector<std::string> avoid;
};
struct DropEvaluation {
  std::uint64_t number = 0;
};
struct Deliver {
  std::shared_ptr<Trajectory> trajectory;
  bool best_effort = false;  ///< for diagnosis only: not worth waiting for
};
struct Report {
  Phase phase = Phase::running;
};
struct End {
  RolloutDone done;
};
}  // namespace action

using Action =
    std::variant<action::Generate, action::StopGenerating, action::Tell, action::Evaluate,
                 action::DropEvaluation, action::Deliver, action::Report, action::End>;
using Actions = std::vector<Action>;

/// One rollout as a state machine: lay the work directory, then policy message → tool calls in
/// order → observation, until it ends for one reason; then the reward of the final work directory,
/// then delivery, then End. Pure: events and `now` in, actions out; nothing is sampled, run, judged
/// or sent here. Token ids are never re-encoded. Infrastructure failures are never scored.
/// After End every event is ignored.
class AgentLoop {
 public:
  static constexpr std::uint32_t kMalformedInARow = 3;
  static constexpr std::size_t kOpenAsks = 4;        ///< evaluations a sandbox may wait for at once
  static constexpr std::chrono::seconds kGrace{60};  ///< for a cut tool call or message to end
  static constexpr std::chrono::seconds kPacking{300};  ///< to compile and pack the final work
  static constexpr std::chrono::seconds kLaying{60};    ///< to make the work directory

  /// The renderer outlives the loop. started_unix_ms goes into the record.
  AgentLoop(Assignment assignment, const Renderer& renderer, std::int64_t started_unix_ms,
            TimePoint now);
  Actions on(LoopEvent event, TimePoint now);
  /// When TimeIsUp is due; changes with every event.
  std::optional<TimePoint> wake_at() const;

  RolloutReport report() const;
  bool ended() const { return state_ == State::ended; }
  const Assignment& assignment() const { return assignment_; }
  const Transcript& transcript() const { return transcript_; }

 private:
  enum class State { laying, speaking, acting, packing, judging, delivering, ended };
  /// An evaluation under way: for the agent's command `ask`, or the final score.
  struct Evaluation {
    std::optional<std::uint64_t> ask;
    EvaluationMode mode = EvaluationMode::verify;
    PackedWork work;
    std::uint32_t tries = 1;
    std::vector<std::string> avoid;
  };

  void handle(event::SandboxOpened opened, TimePoint now);
  void handle(WorkLaid laid, TimePoint now);
  void handle(ToolOutcome outcome, TimePoint now);
  void handle(EvaluationAsk ask, TimePoint now);
  void handle(WorkPacked packed, TimePoint now);
  void handle(event::SandboxLost lost, TimePoint now);
  void handle(event::PolicySpoke spoke, TimePoint now);
  void handle(event::PolicyLost lost, TimePoint now);
  void handle(event::Judged judged, TimePoint now);
  void handle(event::EvaluationLost lost, TimePoint now);
  void handle(event::Delivered delivered, TimePoint now);
  void handle(event::DeliveryGivenUp, TimePoint now);
  void handle(event::TimeIsUp, TimePoint now);
  void handle(event::Cancelled, TimePoint now);
  void handle(event::CutOff, TimePoint now);

  // Turns.
  void speak(TimePoint now);
  void take_message(PolicyMessage message, TimePoint now);
  void run_next_call(TimePoint now);
  bool note_call(const ParsedCall& call, bool schema_valid, std::string text);
  bool close_turn(TimePoint now);
  // Ending.
  void finish(EndReason reason, TimePoint now);
  void score(PackedWork work, TimePoint now);
  void evaluate(Evaluation evaluation, TimePoint now);
  void drop_evaluations(TimePoint now);
  void answer(std::uint64_t ask, std::optional<Judgement> judgement, std::string error);
  void take_final(std::size_t verdict, TimePoint now);
  void fail(std::string cause, TimePoint now);
  void deliver(bool best_effort);
  void end();
  void act(Action action) { actions_.push_back(std::move(action)); }
  void enter(State state, Phase phase);

  const Assignment assignment_;
  const Renderer& renderer_;
  State state_ = State::laying;
  Phase phase_ = Phase::running;
  Actions actions_;  ///< of the event in hand
  Transcript transcript_;
  WorkClock clock_;
  std::optional<TimePoint> grace_;  ///< something must have ended by then, or it is lost
  std::optional<EndReason> cut_;    ///< decided, while a message or a call is still under way
  std::string work_digest_;

  std::vector<TurnRecord> turns_;
  TimePoint turn_began_{};
  bool message_ended_ = true;      ///< by a stop id
  std::vector<ParsedCall> calls_;  ///< of the message in hand
  std::size_t next_call_ = 0;
  std::vector<std::string> texts_;  ///< observations of the message's calls so far
  std::uint32_t malformed_in_row_ = 0;

  std::uint64_t last_order_ = 0;  ///< ids of tool calls and packing
  std::uint64_t last_evaluation_ = 0;
  std::map<std::uint64_t, Evaluation> evaluations_;  ///< under way, by number
  std::map<std::string, std::size_t> scores_;        ///< work digest → index into verdicts
  std::vector<Judgement> verdicts_;

  Trajectory record_;  ///< identity and outcome; tokens are filled in at delivery
  RolloutDone done_;
};

}  // namespace swage::rollout_worker
