#include "gpu_pool/worker/app/evaluations.hpp"

#include <algorithm>
#include <utility>

#include "common/log/log.hpp"

namespace swage::worker {

void Evaluation::give_bundle(std::string bundle) {
  if (!wants_bundle()) return;
  call.work.bundle = std::move(bundle);
  has_bundle = true;
  changed.notify();
}

void Evaluation::refuse_bundle(std::string detail) {
  if (wants_bundle()) stop_because(Refused{Refusal::bad_bundle, std::move(detail)});
}

void Evaluation::extend(Duration valid_for) { owner_.extend(call.token, valid_for); }

Task<std::optional<judge::Progress>> Evaluation::next(std::uint64_t& told, StopSource& gone) {
  while (told == progress_serial && !how_ended && !gone.stopping()) co_await changed.wait(gone);
  if (told == progress_serial || how_ended || gone.stopping()) co_return std::nullopt;
  told = progress_serial;
  co_return progress;
}

void Evaluation::stop_because(Ending reason) {
  if (how_ended) return;
  if (!why) why = std::move(reason);
  stop.request(StopReason::requested);
  changed.notify();
}

Evaluations::Evaluations(const asio::any_io_executor& strand, judge::JudgeRunner& runner,
                         Clock& clock, Hooks hooks)
    : strand_(strand),
      runner_(runner),
      clock_(clock),
      hooks_(std::move(hooks)),
      cleared_(strand),
      gate_(strand, stop_) {
  std::ignore = gate_.spawn("deadlines", watch());
}

std::variant<std::shared_ptr<OpenEvaluation>, Refused> Evaluations::accept(EvaluationCall call) {
  using Answer = EvaluationBook::Answer;
  const auto answer = book_.accept(call.token, call.request, call.valid_for, clock_.now());
  deadlines_moved();
  switch (answer) {
    case Answer::attach:
      return current_;
    case Answer::draining:
      return Refused{Refusal::draining, "this GPU worker is shutting down"};
    case Answer::duplicate:
      log_error("one lease token came with two requests", {{"request", call.request}});
      return Refused{Refusal::duplicate_token, "another request was made under this lease token"};
    case Answer::stale:
      log_warning("stale evaluation refused", {{"request", call.request},
                                               {"epoch", call.token.epoch},
                                               {"counter", call.token.counter}});
      if (hooks_.refused_stale) hooks_.refused_stale();
      return Refused{Refusal::stale, "the lease is over"};
    case Answer::start:
      break;
  }
  const auto before = current_;
  if (before && !before->how_ended)
    before->stop_because(Refused{Refusal::stale, "a newer lease has begun"});
  current_ = std::make_shared<Evaluation>(*this, std::move(call), strand_);
  std::ignore = gate_.spawn("evaluation " + current_->call.request.str(), drive(current_, before));
  return current_;
}

void Evaluations::extend(lease::Token token, Duration valid_for) {
  book_.extend(token, valid_for, clock_.now());
  deadlines_moved();
}

void Evaluations::cancel(lease::RequestId request) {
  if (current_ && !current_->how_ended && current_->call.request == request)
    current_->stop_because(Lost{Lost::Why::cancelled});
}

std::optional<lease::RunningLease> Evaluations::running() const {
  if (!book_.open()) return std::nullopt;
  const auto& call = current_->call;
  const auto cls = call.work.mode == judge::Mode::score     ? lease::RequestClass::score
                   : call.work.mode == judge::Mode::profile ? lease::RequestClass::profile
                                                            : lease::RequestClass::verify;
  return lease::RunningLease{call.request, call.token, lease::RunUid(call.work.run_uid), cls,
                             call.client};
}

void Evaluations::registered(lease::Token newest, bool restored,
                             std::optional<lease::Token> reported) {
  if (book_.registered(newest, restored, reported))
    current_->stop_because(Refused{Refusal::lease_expired, "the queue has given this lease up"});
}

Task<bool> Evaluations::clear(lease::Token token) {
  const bool kill = book_.clear(token);
  const auto open = current_;
  if (kill) {
    open->stop_because(Refused{Refusal::lease_expired, "the queue has taken this lease back"});
    StopSource never;
    while (!open->how_ended) co_await open->changed.wait(never);
  }
  co_return co_await clear_device();
}

Task<bool> Evaluations::self_test() {
  if (book_.open()) co_return true;
  co_return co_await clear_device();
}

Task<bool> Evaluations::clear_device() {
  StopSource never;
  while (clearing_) co_await cleared_.wait(never);
  clearing_ = true;
  const bool clear = co_await runner_.clear();
  clearing_ = false;
  broken_ = !clear;
  cleared_.notify();
  co_return clear;
}

void Evaluations::finish(Evaluation& evaluation, Ending ending) {
  evaluation.how_ended = std::move(ending);
  evaluation.call.work.bundle.clear();
  if (current_.get() == &evaluation) book_.ended(clock_.now());
  evaluation.changed.notify();
}

Task<> Evaluations::drive(EvaluationPtr evaluation, EvaluationPtr before) {
  StopSource never;
  while (before && !before->how_ended) co_await before->changed.wait(never);
  before.reset();
  while (!evaluation->has_bundle && !evaluation->stop.stopping())
    co_await evaluation->changed.wait(evaluation->stop);
  if (evaluation->stop.stopping()) {  // nothing has touched the device
    finish(*evaluation, *evaluation->why);
    co_return;
  }
  if (broken_) {
    const bool mended = co_await clear_device();
    if (!mended) {
      finish(*evaluation, Lost{Lost::Why::not_ready});
      co_return;
    }
  }
  auto ending = co_await judge(evaluation);
  const bool clear = co_await clear_device();
  finish(*evaluation, std::move(ending));
  if (!clear && hooks_.fatal) hooks_.fatal("the device could not be cleared after an evaluation");
}

Task<Ending> Evaluations::judge(EvaluationPtr evaluation) {
  if (current_ == evaluation) {
    const judge::JudgeRequest& work = evaluation->call.work;
    book_.judging(judge::time_limit(work, runner_.knows(work.task_digest)), clock_.now());
  }
  deadlines_moved();
  const auto report = [evaluation](judge::Progress progress) {
    evaluation->progress = std::move(progress);
    evaluation->progress_serial += 1;
    evaluation->changed.notify();
  };
  auto outcome = co_await runner_.run(evaluation->call.work, report, evaluation->stop);
  if (outcome) co_return std::move(*outcome);
  if (evaluation->why) co_return *evaluation->why;
  co_return Lost{outcome.error() == judge::JudgeErrc::not_ready ? Lost::Why::not_ready
                                                                : Lost::Why::judge_lost};
}

void Evaluations::deadlines_moved() {
  if (wake_) wake_->request(StopReason::requested);
}

Task<> Evaluations::watch() {
  while (!stop_.stopping()) {
    const auto overdue = book_.overdue(clock_.now());
    if (overdue && !current_->stop.stopping()) {
      if (*overdue == EvaluationBook::Overdue::lease) {
        current_->stop_because(
            Refused{Refusal::lease_expired, "the lease ran out before the verdict"});
      } else {
        current_->stop_because(Lost{Lost::Why::time_limit});
      }
    }
    const auto wake = std::make_shared<StopSource>();
    wake_ = wake;
    const auto hook = stop_.on_stop([wake] { wake->request(StopReason::requested); });
    const TimePoint next = overdue ? TimePoint::max() : book_.next_check();
    co_await clock_.sleep_until(next, *wake);
  }
}

Task<> Evaluations::drain(TimePoint deadline) {
  book_.drain();
  const auto open = current_;
  if (open && !open->how_ended) {
    std::ignore = gate_.spawn("cut off", cut_off(deadline));
    StopSource never;
    while (!open->how_ended) co_await open->changed.wait(never);
  }
  drained_.request(StopReason::requested);
  stop_.request(StopReason::requested);
  co_await gate_.join();
}

Task<> Evaluations::cut_off(TimePoint deadline) {
  co_await clock_.sleep_until(deadline, drained_);
  if (current_ && !current_->how_ended)
    current_->stop_because(Refused{Refusal::draining, "this GPU worker is shutting down"});
}

}  // namespace swage::worker
