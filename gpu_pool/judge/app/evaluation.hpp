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
/// task is learned or remembered; 5 eager and compile get weights and inputs; 6 checks; 7 rounds;
/// 8 hosts that may stay are handed back, and the verdict is made. Thread: one, blocking.
class Evaluation {
 public:
  Evaluation(Session& session, Assignment assignment);
  /// Runs it; hands facts and resident hosts to the session. Returns the serialised verdict.
  std::string run();

 private:
  Result<void, Ending> steps();
  Result<void, Ending> know_task();
  Result<void, Ending> admit_task();
  Result<void, Ending> prepare_arms();
  Result<void, Ending> check_candidate();
  Result<void, Ending> one_check(std::uint32_t set, const char* kind);
  Result<void, Ending> repeat_check();
  Result<void, Ending> warm_compile();
  Result<void, Ending> time_candidate();
  Result<Host::Call, Ending> call(Role role, std::chrono::milliseconds limit);
  std::chrono::milliseconds call_limit() const;
  Ending explain_crash(Ending crash, int wait_status);
  void enter(const std::string& phase);
  void describe_machine();

  Session& session_;
  SessionBegin begin_;
  Plan plan_;
  Root root_{};
  VerdictRecord record_;
  Solution solution_;
  std::optional<KnownTask> task_;
  bool task_is_new_ = false;
  Room room_;
  Arms arms_;
  std::optional<Weights> weights_;
  std::optional<Inputs> inputs_;
  Checker checker_;
  double eager_us_ = 0;
  CallOutputs last_candidate_;
  CallOutputs last_eager_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point phase_started_;
};

}  // namespace swage::judge
