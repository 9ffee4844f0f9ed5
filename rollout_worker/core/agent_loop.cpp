#include "rollout_worker/core/agent_loop.hpp"

#include <algorithm>
#include <utility>

#include "common/base/check.hpp"

namespace swage::rollout_worker {

AgentLoop::AgentLoop(Assignment assignment, const Renderer& renderer, std::int64_t started_unix_ms,
                     TimePoint now)
    : assignment_(std::move(assignment)),
      renderer_(renderer),
      clock_(now, assignment_.limits.wall_clock),
      grace_(now + kLaying) {
  const auto& a = assignment_;
  check(a.limits.turns >= 1 && a.limits.context_tokens >= 1 && a.limits.turn_tokens >= 1,
        "limits are at least one");
  record_.key = a.key;
  record_.provenance = a.provenance;
  record_.task = a.task;
  record_.started_unix_ms = started_unix_ms;
  record_.identity.tokenizer_digest = renderer.tokenizer_digest();
  record_.renderer = renderer.name();
  record_.sampling = a.sampling;
  record_.use = a.use;
  record_.actor = a.actor;
  done_.key = a.key;
}

Actions AgentLoop::on(LoopEvent event, TimePoint now) {
  if (state_ == State::ended) return {};
  std::visit([&](auto& what) { handle(std::move(what), now); }, event);
  return std::exchange(actions_, {});
}

std::optional<TimePoint> AgentLoop::wake_at() const {
  switch (state_) {
    case State::laying:
    case State::packing:
      return grace_;
    case State::speaking:
    case State::acting:
      return grace_ ? grace_ : clock_.deadline();
    case State::judging:
    case State::delivering:
    case State::ended:
      return std::nullopt;
  }
  return std::nullopt;
}

RolloutReport AgentLoop::report() const {
  return {assignment_.key, phase_, assignment_.sandbox.uid,
          static_cast<std::uint32_t>(turns_.size()), transcript_.size()};
}

void AgentLoop::enter(State state, Phase phase) {
  state_ = state;
  grace_.reset();
  if (phase == phase_) return;
  phase_ = phase;
  act(action::Report{phase});
}

void AgentLoop::handle(event::SandboxOpened opened, TimePoint) {
  done_.isolation = opened.identity.isolation;
}

void AgentLoop::handle(WorkLaid laid, TimePoint now) {
  if (state_ != State::laying) return;
  work_digest_ = laid.work_digest;
  const auto opening = renderer_.opening(assignment_.task.id, laid.directory);
  check(!opening.empty(), "a trajectory begins with context");
  transcript_.append_context(opening);
  act(action::Report{Phase::running});
  speak(now);
}

void AgentLoop::handle(event::SandboxLost lost, TimePoint now) {
  // Once the final bundle is here, the sandbox has done its work.
  if (state_ == State::judging || state_ == State::delivering) return;
  fail(std::move(lost.cause), now);
}

void AgentLoop::handle(event::PolicySpoke spoke, TimePoint now) {
  if (state_ != State::speaking) return;
  record_.identity = std::move(spoke.identity);
  take_message(std::move(spoke.message), now);
}

void AgentLoop::handle(event::PolicyLost lost, TimePoint now) {
  if (state_ != State::speaking) return;
  fail(std::move(lost.cause), now);
}

void AgentLoop::handle(event::TimeIsUp, TimePoint now) {
  const auto due = wake_at();
  if (!due || *due > now) return;  // things have moved on
  if (state_ == State::laying || state_ == State::packing) return fail("sandbox_lost", now);
  if (cut_) return fail(state_ == State::speaking ? "policy_lost" : "sandbox_lost", now);
  cut_ = EndReason::wall_clock;
  grace_ = now + kGrace;
  if (state_ == State::speaking) {
    act(action::StopGenerating{});
  } else {
    act(action::Tell{CancelTool{last_order_}});
  }
}

void AgentLoop::handle(event::Cancelled, TimePoint now) {
  if (state_ == State::delivering) return;  // it is done; only the answer is missing
  if (state_ == State::speaking) act(action::StopGenerating{});
  drop_evaluations(now);
  done_.reason = EndReason::cancelled;
  end();
}

void AgentLoop::handle(event::CutOff, TimePoint now) {
  if (state_ == State::speaking) act(action::StopGenerating{});
  drop_evaluations(now);
  done_.reason = EndReason::infrastructure;
  done_.infrastructure_cause = "worker_drained";
  done_.reward.reset();
  end();
}

}  // namespace swage::rollout_worker
