#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "common/asio/asio.hpp"
#include "common/asio/clock.hpp"
#include "common/asio/gate.hpp"
#include "rollout_worker/api/evaluation.hpp"
#include "rollout_worker/api/policy.hpp"
#include "rollout_worker/api/sandbox.hpp"
#include "rollout_worker/api/trajectory.hpp"
#include "rollout_worker/app/rollout_metrics.hpp"
#include "rollout_worker/core/agent_loop.hpp"

namespace swage::rollout_worker {

/// What rollouts work with. All of it outlives them and lives on their strand.
struct Services {
  Clock& clock;
  const Renderer& renderer;
  PolicyDirectory& policy;
  PolicyDirectory& teacher;
  SandboxConnector& sandboxes;
  Evaluator& evaluator;
  TrajectorySink& sink;
  RolloutMetrics& metrics;
};

/// One rollout in the world: feeds an AgentLoop and carries out its actions, each waiting one in a
/// task of its own. Thread: `strand`. Life: run() once; destroy it after run() has returned.
class Rollout {
 public:
  using OnReport = std::function<void(RolloutReport)>;
  Rollout(asio::any_io_executor strand, Services services, Assignment assignment,
          OnReport on_report);

  /// Returns when the rollout has ended and everything it used is closed.
  Task<RolloutDone> run();
  void cancel() { happened(event::Cancelled{}); }  ///< the controller asked for it
  void cut_off() { happened(event::CutOff{}); }    ///< the process goes away
  RolloutReport report() const { return loop_.report(); }

 private:
  void happened(LoopEvent event);
  Task<LoopEvent> next();
  void note(const LoopEvent& event);
  void carry_out(action::Generate action);
  void carry_out(action::StopGenerating action);
  void carry_out(action::Tell action);
  void carry_out(action::Evaluate action);
  void carry_out(action::DropEvaluation action);
  void carry_out(action::Deliver action);
  void carry_out(action::Report action);
  void carry_out(action::End action);

  Task<> open_sandbox();
  Task<> generate(action::Generate action, std::shared_ptr<StopSource> stop);
  Task<> evaluate(action::Evaluate action, std::shared_ptr<StopSource> stop);
  Task<> deliver(std::shared_ptr<Trajectory> trajectory);
  Task<> give_up_delivery();
  Task<> tear_down();
  void spawn(const char* name, Task<> task);

  asio::any_io_executor strand_;
  Services services_;
  OnReport on_report_;
  AgentLoop loop_;
  std::deque<LoopEvent> inbox_;
  StopSource* sleeping_ = nullptr;  ///< of next(), while it waits
  std::unique_ptr<SandboxSession> sandbox_;
  std::unique_ptr<PolicySession> policy_;
  std::map<std::uint64_t, std::string> tools_;  ///< calls under way, by id: their names
  std::shared_ptr<StopSource> generating_;
  std::map<std::uint64_t, std::shared_ptr<StopSource>> evaluating_;
  StopSource delivering_;
  RolloutDone done_;
  StopSource stop_;  ///< of everything below
  Gate tasks_;
};

}  // namespace swage::rollout_worker
