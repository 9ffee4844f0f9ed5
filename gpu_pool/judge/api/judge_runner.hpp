#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"

namespace swage::judge {

/// What an evaluation has to answer.
enum class Mode {
  verify,   ///< right or not
  profile,  ///< plus times, for the agent
  score,    ///< decides a reward
};

/// What is measured.
enum class Subject {
  solution,   ///< the bundle's candidate against eager and compile
  reference,  ///< eager and compile alone; the bundle is not looked at
  noise,      ///< the bundle's candidate against itself in a second process
};

/// One evaluation, as the judge gets it.
struct JudgeRequest {
  std::string request;        ///< id of the evaluation, [A-Za-z0-9._-]{1,96}
  std::string rollout_id;     ///< whose work is judged
  std::uint32_t attempt = 1;  ///< of that rollout, from 1
  std::string run_uid;        ///< TrainingRun's uid
  std::string pool;           ///< `<namespace>.<pool>`
  std::uint64_t epoch = 0;    ///< of the lease token
  std::uint64_t counter = 0;  ///< of the lease token
  Mode mode = Mode::verify;
  std::string task_id;
  std::string task_source;     ///< text of model.py
  std::string task_digest;     ///< SHA-256 of it, 64 hex digits
  std::string precision;       ///< `official` or `matched`
  std::string device = "cpu";  ///< kind of device: `cpu` or `cuda`
  bool one_machine = false;    ///< preset OneMachine: 12 rounds, j = 3
  Subject subject = Subject::solution;
  std::uint32_t rounds = 0;          ///< valid rounds, with one look; 0: as the mode says
  std::uint32_t budget_s = 0;        ///< seconds that the rounds may take; 0: 60
  std::vector<std::string> changes;  ///< what was done to the solution before it was judged
  std::string bundle;                ///< serialised swage.v1.Bundle, content checked against its id
};

/// The longest that judging may take: verify 60 s, profile 120 s, score 180 s, and what the request
/// allows its rounds beyond that; 240 s more for a task that no judge has learned yet, which
/// Inductor has to compile first.
constexpr std::chrono::seconds time_limit(const JudgeRequest& request, bool task_is_known) {
  const auto by_mode = [&request] {
    switch (request.mode) {
      case Mode::verify:
        return std::chrono::seconds(60);
      case Mode::profile:
        return std::chrono::seconds(120);
      case Mode::score:
        return std::chrono::seconds(180);
    }
    return std::chrono::seconds(60);
  };
  const std::chrono::seconds learning(task_is_known ? 0 : 240);
  return by_mode() + std::chrono::seconds(request.budget_s) + learning;
}

/// How far an evaluation has come.
struct Progress {
  std::string phase;        ///< as Verdict.phase
  std::uint32_t done = 0;   ///< steps of this phase that are done
  std::uint32_t total = 0;  ///< of how many, 0 if unknown
};

/// The signed verdict, bytes as they stand on the wire.
struct JudgeOutcome {
  std::string verdict;  ///< a serialised swage.v1.Verdict
  std::string hmac;     ///< HMAC-SHA-256 of it, 32 bytes
};

/// Why there is no verdict.
enum class JudgeErrc {
  cancelled,   ///< stop was asked
  judge_lost,  ///< the judge process died or broke its protocol
  not_ready,   ///< the hosts are not warm, or shut_down() was called
};

constexpr FailureKind kind_of(JudgeErrc code) {
  switch (code) {
    case JudgeErrc::cancelled:
      return FailureKind::cancelled;
    case JudgeErrc::judge_lost:
    case JudgeErrc::not_ready:
      return FailureKind::retry;
  }
  return FailureKind::give_up;
}

/// Runs judges on one device, one at a time. Thread: the strand it was made for. Life: call
/// shut_down() and await it before it goes.
class JudgeRunner {
 public:
  virtual ~JudgeRunner() = default;

  /// Runs one evaluation to its verdict. `progress` is called on the runner's strand. Asking `stop`
  /// kills the judge and the candidate's hosts; `cancelled` is returned only when all are gone.
  virtual Task<Result<JudgeOutcome, JudgeErrc>> run(JudgeRequest request,
                                                    std::function<void(Progress)> progress,
                                                    StopSource& stop) = 0;

  /// A judge has learned the task with this digest, and what it learned is still here.
  virtual bool knows(const std::string& task_digest) const = 0;

  /// True: the device is clear, nothing of an evaluation is left on it.
  virtual Task<bool> clear() = 0;

  /// Ends the resident hosts. Nothing may run any more.
  virtual Task<> shut_down() = 0;
};

}  // namespace swage::judge
