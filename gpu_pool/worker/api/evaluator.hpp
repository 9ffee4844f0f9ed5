#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/time.hpp"
#include "gpu_pool/judge/api/judge_runner.hpp"
#include "gpu_pool/lease/api/types.hpp"

namespace swage::worker {

/// One call to evaluate a bundle under a lease.
struct EvaluationCall {
  lease::RequestId request;
  lease::Token token;
  lease::ClientId client;    ///< who holds the lease
  judge::JudgeRequest work;  ///< its bundle is empty until it has been received and checked
  Duration valid_for{};      ///< the lease ends this long from now
};

/// Why a call is not, or no longer, served.
enum class Refusal {
  stale,            ///< the lease is over
  duplicate_token,  ///< one token, two requests
  bad_bundle,       ///< size, hash or limits do not agree
  lease_expired,    ///< valid_for ran out before the verdict
  draining,         ///< the worker is going away
};
struct Refused {
  Refusal code = Refusal::stale;
  std::string detail;  ///< for people
};

/// There is no verdict, and it is not the work's fault.
struct Lost {
  enum class Why { judge_lost, not_ready, time_limit, cancelled } why = Why::judge_lost;
};

/// How an evaluation ended.
using Ending = std::variant<judge::JudgeOutcome, Refused, Lost>;

/// One evaluation, as every call that asked for it sees it. Thread: the evaluator's strand.
class OpenEvaluation {
 public:
  virtual ~OpenEvaluation() = default;
  virtual bool wants_bundle() const = 0;
  /// The bundle has arrived and agrees with its id. A second one is ignored.
  virtual void give_bundle(std::string bundle) = 0;
  virtual void refuse_bundle(std::string detail) = 0;
  /// The lease was renewed and ends this long from now.
  virtual void extend(Duration valid_for) = 0;
  /// Waits for progress beyond `told`, which it raises. Nothing: ended, or `gone` was requested.
  virtual Task<std::optional<judge::Progress>> next(std::uint64_t& told, StopSource& gone) = 0;
  /// How it ended; nothing while it is open.
  virtual const std::optional<Ending>& ending() const = 0;
};

/// Evaluates on one device, one at a time. Thread: one strand. Life: outlives its calls.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// Lets a call in, or says why not. The same token and request: the same evaluation, or its
  /// ending for ten minutes.
  virtual std::variant<std::shared_ptr<OpenEvaluation>, Refused> accept(EvaluationCall call) = 0;
  /// Ends the evaluation of this request, if it is open.
  virtual void cancel(lease::RequestId request) = 0;
};

}  // namespace swage::worker
