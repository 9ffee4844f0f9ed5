// AgentLoop: evaluations, the reward, delivery and the end.
#include <utility>

#include "rollout_worker/core/agent_loop.hpp"
#include "rollout_worker/core/scoring.hpp"

namespace swage::rollout_worker {

void AgentLoop::answer(std::uint64_t ask, std::optional<Judgement> judgement, std::string error) {
  act(action::Tell{AskAnswer{ask, std::move(judgement), std::move(error)}});
}

void AgentLoop::handle(EvaluationAsk ask, TimePoint now) {
  if (state_ != State::speaking && state_ != State::acting)
    return answer(ask.id, std::nullopt, "the rollout is ending");
  if (evaluations_.size() >= kOpenAsks)
    return answer(ask.id, std::nullopt, "too many evaluations at once: wait for the others");
  if (ask.mode == EvaluationMode::score && !assignment_.one_machine)
    return answer(ask.id, std::nullopt, "the final score is taken when you have finished");
  // A score makes the same checks as a verification, and will be needed anyway.
  if (assignment_.one_machine) ask.mode = EvaluationMode::score;
  if (ask.mode == EvaluationMode::score) {
    // One score per state of the files: asking again is no second throw of the dice.
    const auto known = scores_.find(ask.work.work_digest);
    if (known != scores_.end()) return answer(ask.id, verdicts_[known->second], "");
    for (const auto& [number, open] : evaluations_)
      if (open.mode == EvaluationMode::score && open.work.work_digest == ask.work.work_digest)
        return answer(ask.id, std::nullopt, "these files are being measured already");
  }
  evaluate({ask.id, ask.mode, std::move(ask.work), 1, {}}, now);
}

void AgentLoop::evaluate(Evaluation evaluation, TimePoint now) {
  const auto number = ++last_evaluation_;
  clock_.pause(now);
  act(action::Evaluate{number, evaluation.mode, evaluation.work, evaluation.avoid});
  evaluations_.emplace(number, std::move(evaluation));
}

void AgentLoop::drop_evaluations(TimePoint now) {
  for (const auto& [number, evaluation] : evaluations_) {
    clock_.resume(now);
    act(action::DropEvaluation{number});
  }
  evaluations_.clear();
}

void AgentLoop::handle(event::Judged judged, TimePoint now) {
  const auto at = evaluations_.find(judged.number);
  if (at == evaluations_.end()) return;  // dropped meanwhile
  auto evaluation = std::move(at->second);
  evaluations_.erase(at);
  clock_.resume(now);
  auto& judgement = judged.judgement;
  ++done_.evaluations[judgement.code];
  const bool again = judge_again(judgement.code, evaluation.tries);
  verdicts_.push_back(judgement);
  if (again) {
    ++evaluation.tries;
    if (!judgement.gpu.empty()) evaluation.avoid.push_back(judgement.gpu);
    return evaluate(std::move(evaluation), now);
  }
  const auto index = verdicts_.size() - 1;
  if (evaluation.mode == EvaluationMode::score && !is_infrastructure(judgement.code))
    scores_[evaluation.work.work_digest] = index;
  if (evaluation.ask) return answer(*evaluation.ask, std::move(judgement), "");
  take_final(index, now);
}

void AgentLoop::handle(event::EvaluationLost lost, TimePoint now) {
  const auto at = evaluations_.find(lost.number);
  if (at == evaluations_.end()) return;
  evaluations_.erase(at);
  clock_.resume(now);
  fail(std::move(lost.cause), now);
}

void AgentLoop::finish(EndReason reason, TimePoint now) {
  done_.reason = reason;
  drop_evaluations(now);
  const auto known = scores_.find(work_digest_);
  if (assignment_.one_machine && known != scores_.end()) return take_final(known->second, now);
  enter(State::packing, Phase::scoring);
  grace_ = now + kPacking;
  act(action::Tell{PackOrder{++last_order_}});
}

void AgentLoop::handle(WorkPacked packed, TimePoint now) {
  if (state_ != State::packing || packed.id != last_order_) return;
  work_digest_ = packed.work.work_digest;
  const auto known = scores_.find(work_digest_);
  if (assignment_.one_machine && known != scores_.end()) return take_final(known->second, now);
  score(std::move(packed.work), now);
}

void AgentLoop::score(PackedWork work, TimePoint now) {
  enter(State::judging, Phase::scoring);
  evaluate({std::nullopt, EvaluationMode::score, std::move(work), 1, {}}, now);
}

void AgentLoop::take_final(std::size_t verdict, TimePoint now) {
  const auto& judgement = verdicts_[verdict];
  const auto reward = reward_of(judgement, assignment_.raw_speedup);
  if (!reward) return fail("judge_" + judgement.code, now);
  record_.final_verdict = static_cast<std::uint32_t>(verdict);
  done_.trust = judgement.trust;
  if (const auto position = transcript_.last_sampled()) {
    record_.reward = reward;
    record_.reward_position = *position;
    done_.reward = reward;
  }
  deliver(false);
}

/// Something that is not the agent's doing went wrong: no reward. The record is kept for diagnosis
/// if the policy has said anything.
void AgentLoop::fail(std::string cause, TimePoint now) {
  if (state_ == State::speaking) act(action::StopGenerating{});
  drop_evaluations(now);
  done_.reason = EndReason::infrastructure;
  done_.infrastructure_cause = std::move(cause);
  done_.reward.reset();
  record_.reward.reset();
  record_.final_verdict.reset();
  if (turns_.empty()) return end();
  deliver(true);
}

void AgentLoop::deliver(bool best_effort) {
  enter(State::delivering, Phase::delivering);
  auto trajectory = std::make_shared<Trajectory>(std::move(record_));
  transcript_.store_in(*trajectory);
  trajectory->turns = turns_;
  trajectory->verdicts = std::move(verdicts_);
  trajectory->reason = done_.reason;
  trajectory->infrastructure_failure = done_.infrastructure_cause;
  act(action::Deliver{std::move(trajectory), best_effort});
}

void AgentLoop::handle(event::Delivered delivered, TimePoint) {
  if (state_ != State::delivering) return;
  const auto& delivery = delivered.delivery;
  if (done_.reason != EndReason::infrastructure) {
    done_.delivered = delivery.answer != SubmitAnswer::rejected;
    if (!done_.delivered) done_.infrastructure_cause = "rejected:" + delivery.reason;
  }
  end();
}

void AgentLoop::handle(event::DeliveryGivenUp, TimePoint) {
  if (state_ != State::delivering) return;
  if (done_.reason != EndReason::infrastructure) done_.infrastructure_cause = "learner_lost";
  end();
}

void AgentLoop::end() {
  done_.turns = static_cast<std::uint32_t>(turns_.size());
  done_.tokens = transcript_.size();
  state_ = State::ended;
  act(action::End{done_});
}

}  // namespace swage::rollout_worker
