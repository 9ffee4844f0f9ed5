#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "gpu_pool/judge/app/arms.hpp"
#include "gpu_pool/judge/app/checker.hpp"
#include "gpu_pool/judge/app/session.hpp"

namespace swage::judge {

/// One evaluation, from assignment to verdict:
/// 1 the bundle is read; 2 the root seed is drawn; 3 the candidate's host starts to load; 4 the
/// task is learned or remembered; 5 eager and compile get weights and inputs; 6 checks: random
/// inputs, hidden distributions, the second set of weights, which stays from there on; 7 rounds;
/// 8 hosts that may stay are handed back, and the verdict is made. Thread: one, blocking.
class Evaluation {
 public:
  /// `guards`: all of them, but in tests (core/guards.hpp). `machine` outlives the evaluation.
  Evaluation(Session& session, Assignment assignment, Machine& machine, Guards guards);
  /// Runs it; hands facts and resident hosts to the session. Returns the serialised verdict.
  std::string run();

 private:
  Result<void, Ending> steps();
  Result<void, Ending> reference_steps();
  Result<void, Ending> solution_steps();
  Result<void, Ending> open_bundle();
  Result<void, Ending> prepare_twin();
  Result<void, Ending> audit_library() const;
  Result<void, Ending> audit_source();
  Result<void, Ending> know_task();
  Result<void, Ending> admit_task();
  Result<void, Ending> refuse_nulls(const CallOutputs& expected, const CallOutputs& last);
  Result<void, Ending> prepare_arms();
  Result<void, Ending> check_candidate();
  Result<void, Ending> learn_hidden();
  Result<bool, Ending> holds_for(Hidden which, std::uint64_t set);
  Result<void, Ending> one_check(std::uint64_t set, const std::string& kind,
                                 const std::string& distribution);
  Result<void, Ending> check_precision(CheckRecord& record);
  Result<void, Ending> repeat_check();
  Result<void, Ending> ghost_check();
  Result<void, Ending> hidden_checks();
  Result<void, Ending> weight_checks();
  Result<void, Ending> warm_compile();
  Result<void, Ending> warm_arms();
  Result<void, Ending> time_arms();
  Result<Host::Call, Ending> call(Role role, std::chrono::milliseconds limit);
  std::chrono::milliseconds call_limit() const;
  Ending explain_crash(Ending crash);
  void enter(const std::string& phase);
  void describe_machine();
  void look_after_device();

  Session& session_;
  SessionBegin begin_;
  Guards guards_;
  Plan plan_;
  Root root_{};
  VerdictRecord record_;
  Solution solution_;
  std::optional<KnownTask> task_;
  bool task_is_new_ = false;
  Machine& machine_;
  Room& room_;
  Arms arms_;
  std::optional<Weights> weights_;
  std::optional<Weights> other_weights_;  // the second set; absent when there is no state
  std::optional<Inputs> inputs_;
  Checker checker_;
  double eager_us_ = 0;
  bool called_ = false;  // the first calls may take longer
  CallOutputs last_candidate_;
  CallOutputs last_eager_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point phase_started_;
};

}  // namespace swage::judge
