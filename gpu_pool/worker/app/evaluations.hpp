#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "common/asio/clock.hpp"
#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "gpu_pool/lease/api/worker_queue.hpp"
#include "gpu_pool/worker/api/evaluator.hpp"
#include "gpu_pool/worker/core/evaluation_book.hpp"

namespace swage::worker {

class Evaluations;

/// One evaluation, shared by the calls that wait for it and the task that drives it.
class Evaluation final : public OpenEvaluation {
 public:
  Evaluation(Evaluations& owner, EvaluationCall c, const asio::any_io_executor& strand)
      : call(std::move(c)), changed(strand), owner_(owner) {}
  bool wants_bundle() const override { return !has_bundle && !how_ended; }
  void give_bundle(std::string bundle) override;
  void refuse_bundle(std::string detail) override;
  void extend(Duration valid_for) override;
  Task<std::optional<judge::Progress>> next(std::uint64_t& told, StopSource& gone) override;
  const std::optional<Ending>& ending() const override { return how_ended; }

  void stop_because(Ending why);

  EvaluationCall call;
  bool has_bundle = false;
  judge::Progress progress;
  std::uint64_t progress_serial = 0;
  std::optional<Ending> how_ended;
  Event changed;  ///< bundle, progress or ending
  StopSource stop;
  std::optional<Ending> why;  ///< why it was stopped

 private:
  Evaluations& owner_;
};
using EvaluationPtr = std::shared_ptr<Evaluation>;

/// Evaluates on one device, one at a time, in the order of tokens.
/// 1. accept() asks the book; a newer token stops what is open.
/// 2. drive() waits until the one before has ended and the device is clear, then for the bundle,
///    then runs the judge, clears the device, and announces the ending.
/// 3. watch() stops what is overdue.
/// A device that cannot be cleared is reported through `fatal`; nothing runs on it any more.
/// Thread: the strand it was made for. Life: await drain() before it goes.
class Evaluations final : public Evaluator {
 public:
  struct Hooks {
    std::function<void(std::string what)> fatal;
    std::function<void()> refused_stale;  ///< for metrics; may be empty
  };
  Evaluations(const asio::any_io_executor& strand, judge::JudgeRunner& runner, Clock& clock,
              Hooks hooks);

  std::variant<std::shared_ptr<OpenEvaluation>, Refused> accept(EvaluationCall call) override;
  void cancel(lease::RequestId request) override;
  void extend(lease::Token token, Duration valid_for);

  /// What a registering worker says that it runs.
  std::optional<lease::RunningLease> running() const;
  lease::Token floor() const { return book_.floor(); }
  void registered(lease::Token newest, bool restored, std::optional<lease::Token> reported);
  /// Takes leases up to `token` back: kills, waits, clears. True: the device is clear.
  Task<bool> clear(lease::Token token);
  /// The device's own check, when nothing is open.
  Task<bool> self_test();

  /// Lets no new call in; waits for the open one until `deadline`, then stops it.
  Task<> drain(TimePoint deadline);

 private:
  Task<> drive(EvaluationPtr evaluation, EvaluationPtr before);
  Task<Ending> judge(EvaluationPtr evaluation);
  Task<> watch();
  Task<> cut_off(TimePoint deadline);
  void deadlines_moved();
  Task<bool> clear_device();
  void finish(Evaluation& evaluation, Ending ending);

  asio::any_io_executor strand_;
  judge::JudgeRunner& runner_;
  Clock& clock_;
  Hooks hooks_;
  EvaluationBook book_;
  EvaluationPtr current_;
  bool broken_ = false;  // the device could not be cleared
  bool clearing_ = false;
  Event cleared_;
  std::shared_ptr<StopSource> wake_;  // requested when deadlines have moved
  StopSource drained_, stop_;
  Gate gate_;
};

}  // namespace swage::worker
