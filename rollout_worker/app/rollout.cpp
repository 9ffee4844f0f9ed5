#include "rollout_worker/app/rollout.hpp"

#include <utility>

#include "common/base/check.hpp"
#include "common/log/log.hpp"

namespace swage::rollout_worker {
namespace {

/// A record that is kept for diagnosis only is not worth more.
constexpr std::chrono::seconds kBestEffort{10};

std::string cause_of(SandboxErrc error) {
  return error == SandboxErrc::wrong_pod ? "sandbox_wrong_pod" : "sandbox_lost";
}
std::string cause_of(PolicyErrc error) {
  return error == PolicyErrc::incompatible ? "policy_incompatible" : "policy_lost";
}
std::string cause_of(EvaluationErrc error) {
  return error == EvaluationErrc::refused ? "evaluation_refused" : "pool_lost";
}

}  // namespace

Rollout::Rollout(asio::any_io_executor strand, Services services, Assignment assignment,
                 OnReport on_report)
    : strand_(strand),
      services_(services),
      on_report_(std::move(on_report)),
      loop_(std::move(assignment), services_.renderer, unix_ms(), services_.clock.now()),
      sandbox_(services_.sandboxes.connect(loop_.assignment())),
      policy_((loop_.assignment().actor == Actor::teacher ? services_.teacher : services_.policy)
                  .open(loop_.assignment())),
      tasks_(strand, stop_) {}

Task<RolloutDone> Rollout::run() {
  {
    const auto failed = stop_.on_stop([this] {
      if (sleeping_) sleeping_->request(StopReason::fault);
    });
    spawn("open sandbox", open_sandbox());
    while (!loop_.ended() && !stop_.stopping()) {
      auto event = co_await next();
      if (stop_.stopping()) break;
      note(event);
      auto actions = loop_.on(std::move(event), services_.clock.now());
      for (auto& action : actions)
        std::visit([this](auto& what) { carry_out(std::move(what)); }, action);
    }
  }
  co_await tear_down();
  co_return done_;
}

void Rollout::happened(LoopEvent event) {
  inbox_.push_back(std::move(event));
  if (sleeping_) sleeping_->request(StopReason::requested);
}

Task<LoopEvent> Rollout::next() {
  if (inbox_.empty()) {
    StopSource woken;
    sleeping_ = &woken;
    const auto due = loop_.wake_at();
    co_await services_.clock.sleep_until(due.value_or(TimePoint::max()), woken);
    sleeping_ = nullptr;
  }
  if (inbox_.empty()) co_return event::TimeIsUp{};
  auto event = std::move(inbox_.front());
  inbox_.pop_front();
  co_return event;
}

/// Counts what happened, before the loop takes it.
void Rollout::note(const LoopEvent& event) {
  const auto* outcome = std::get_if<ToolOutcome>(&event);
  if (!outcome) return;
  const auto tool = tools_.find(outcome->id);
  if (tool == tools_.end()) return;
  services_.metrics.tool_returned(tool->second, *outcome);
  tools_.erase(tool);
}

void Rollout::spawn(const char* name, Task<> task) {
  check(tasks_.spawn(name, std::move(task)), "the rollout still runs");
}

void Rollout::carry_out(action::Generate action) {
  generating_ = std::make_shared<StopSource>();
  spawn("generate", generate(std::move(action), generating_));
}

void Rollout::carry_out(action::StopGenerating) {
  if (generating_) generating_->request(StopReason::requested);
}

void Rollout::carry_out(action::Tell action) {
  if (const auto* call = std::get_if<ToolCall>(&action.order)) tools_[call->id] = call->name;
  sandbox_->send(std::move(action.order));
}

void Rollout::carry_out(action::Evaluate action) {
  const auto stop = std::make_shared<StopSource>();
  evaluating_[action.number] = stop;
  spawn("evaluate", evaluate(std::move(action), stop));
}

void Rollout::carry_out(action::DropEvaluation action) {
  const auto at = evaluating_.find(action.number);
  if (at != evaluating_.end()) at->second->request(StopReason::requested);
}

void Rollout::carry_out(action::Deliver action) {
  action.trajectory->ended_unix_ms = unix_ms();
  services_.metrics.trajectory_made(*action.trajectory);
  spawn("deliver", deliver(std::move(action.trajectory)));
  if (action.best_effort) spawn("give up delivery", give_up_delivery());
}

void Rollout::carry_out(action::Report action) {
  auto report = loop_.report();
  report.phase = action.phase;
  on_report_(std::move(report));
}

void Rollout::carry_out(action::End action) { done_ = std::move(action.done); }

Task<> Rollout::open_sandbox() {
  const auto listener = [this](std::optional<SandboxEvent> said) {
    if (!said) return happened(event::SandboxLost{"sandbox_lost"});
    std::visit([this](auto& what) { happened(std::move(what)); }, *said);
  };
  auto opened = co_await sandbox_->open(listener, stop_);
  if (opened) {
    happened(event::SandboxOpened{std::move(*opened)});
  } else {
    happened(event::SandboxLost{cause_of(opened.error())});
  }
}

Task<> Rollout::generate(action::Generate action, std::shared_ptr<StopSource> stop) {
  // Later than the loop's own cut, which asks for what was said so far: a call that ends of itself
  // would be a lost policy.
  const auto deadline =
      AgentLoop::kGrace +
      loop_.wake_at().value_or(services_.clock.now() + loop_.assignment().limits.wall_clock);
  auto message =
      co_await policy_->generate(std::move(action.append), action.max_tokens, deadline, *stop);
  if (message) {
    happened(event::PolicySpoke{std::move(*message), policy_->identity()});
  } else if (message.error() == PolicyErrc::cancelled) {
    PolicyMessage nothing;
    nothing.end = MessageEnd::cancelled;
    happened(event::PolicySpoke{std::move(nothing), policy_->identity()});
  } else {
    happened(event::PolicyLost{cause_of(message.error())});
  }
}

Task<> Rollout::evaluate(action::Evaluate action, std::shared_ptr<StopSource> stop) {
  const auto& a = loop_.assignment();
  EvaluationOrder order;
  order.rollout = a.key;
  order.request =
      a.key.id.str() + "." + std::to_string(a.key.attempt) + "." + std::to_string(action.number);
  order.run_uid = a.provenance.run_uid;
  order.mode = action.mode;
  order.task = a.task;
  order.work = std::move(action.work);
  order.precision = a.precision;
  order.one_machine = a.one_machine;
  order.lease_weight = a.lease_weight;
  order.max_leases = a.max_leases;
  order.avoid = std::move(action.avoid);
  const auto mode = action.mode;
  const auto number = action.number;
  auto judgement = co_await services_.evaluator.evaluate(std::move(order), *stop);
  evaluating_.erase(number);
  if (judgement) {
    happened(event::Judged{number, std::move(*judgement)});
  } else if (judgement.error() != EvaluationErrc::cancelled) {
    services_.metrics.evaluation_failed(mode);
    happened(event::EvaluationLost{number, cause_of(judgement.error())});
  }
}

Task<> Rollout::deliver(std::shared_ptr<Trajectory> trajectory) {
  auto delivery = co_await services_.sink.deliver(std::move(trajectory), delivering_);
  if (delivery) {
    happened(event::Delivered{std::move(*delivery)});
  } else {
    happened(event::DeliveryGivenUp{});
  }
}

Task<> Rollout::give_up_delivery() {
  co_await services_.clock.sleep_for(kBestEffort, stop_);
  delivering_.request(StopReason::deadline);
}

Task<> Rollout::tear_down() {
  stop_.request(StopReason::requested);
  delivering_.request(StopReason::requested);
  if (generating_) generating_->request(StopReason::requested);
  for (const auto& [number, stop] : evaluating_) stop->request(StopReason::requested);
  std::exception_ptr failure;
  try {
    co_await tasks_.join();
  } catch (...) {
    failure = std::current_exception();
  }
  co_await sandbox_->close();
  co_await policy_->close();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace swage::rollout_worker
