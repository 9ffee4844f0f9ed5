#include <exception>
#include <utility>

#include "common/base/exit_code.hpp"
#include "common/base/json_text.hpp"
#include "common/log/log.hpp"
#include "controller/app/program.hpp"
#include "controller/app/run_engine.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

/// So many groups given up in a row and so long without a delivery: nothing works here.
constexpr std::uint64_t kHopelessGroups = 10;
constexpr auto kHopelessTime = 120s;

}  // namespace

bool RunEngine::succeeded() const { return failure_.empty() && done_; }

void RunEngine::fail(std::string why, int code) {
  if (!failure_.empty()) return;
  failure_ = std::move(why);
  failure_code_ = code;
}

/// Closes the account: the run is over.
void RunEngine::completed(std::int64_t unix_ms) {
  completed_unix_ms_ = unix_ms;
  if (!totals_.stages.empty() && totals_.stages.back().ended_unix_ms == 0)
    totals_.stages.back().ended_unix_ms = unix_ms;
}

RunPhase RunEngine::phase() const {
  if (completed_unix_ms_ != 0) {
    if (!failure_.empty()) return RunPhase::failed;
    if (done_) return RunPhase::succeeded;
  }
  if (ending_) return RunPhase::terminating;
  if (suspended_) return RunPhase::suspended;
  if (dispatcher_.status().pause) return RunPhase::paused;
  return dispatcher_.attached() ? RunPhase::running : RunPhase::pending;
}

RunFacts RunEngine::facts() const {
  return {setup_.file,
          setup_.run_uid,
          phase(),
          dispatcher_,
          workloads_.reconciler(),
          totals_,
          sandboxes_.counts(),
          sandboxes_.circuit_open(),
          {sandboxes_.trouble_reason(), sandboxes_.trouble()},
          host_.pool_trouble(),
          setup_.network_isolated,
          sandboxes_.leak(),
          host_.epoch(),
          setup_.started_unix_ms,
          completed_unix_ms_,
          failure_,
          setup_.evaluation_rollouts,
          host_.pool_snapshot()};
}

RunTotals RunEngine::totals() const {
  auto out = totals_;
  out.wall_seconds = wall_seconds();
  out.reissued += dispatcher_.counters().reissued;
  out.infrastructure_failures += dispatcher_.counters().infrastructure_failed;
  out.groups_replaced += dispatcher_.counters().groups_replaced;
  return out;
}

double RunEngine::wall_seconds() const {
  return totals_.wall_seconds + std::chrono::duration<double>(clock_.now() - began_).count();
}

void RunEngine::suspend(bool suspended) {
  suspended_ = suspended;
  dispatcher_.suspend(suspended);
  wake();
}

RunApi::Resumed RunEngine::resume(const std::string& pause_id) {
  if (suspended_ && pause_id.empty()) {
    suspend(false);
    return RunApi::Resumed::done;
  }
  const auto& pause = dispatcher_.status().pause;
  if (!pause) return RunApi::Resumed::not_paused;
  if (pause->id != pause_id) return RunApi::Resumed::wrong_pause;
  control_desk_.resume(pause_id);
  return RunApi::Resumed::done;
}

Task<> RunEngine::pod_loop() {
  while (const auto event = co_await backend_.next_event(pods_stop_)) {
    if (event->component == Component::sandbox) {
      if (sandboxes_.observed(*event)) sandbox_ended(*event);
    } else {
      workload_changed(*event);
    }
    wake();
  }
}

void RunEngine::workload_changed(const PodEvent& event) {
  const bool ended = event.phase == PodPhase::succeeded || event.phase == PodPhase::failed;
  workloads_.observed(event);
  if (event.component == Component::rollout_worker && ended)
    dispatcher_.worker_died(event.name, clock_.now());
  if (ended && !ending_) log_warning("a pod ended", {{"pod", event.name}, {"how", event.detail}});
  if (event.phase == PodPhase::pending)
    log_warning("a pod cannot start", {{"pod", event.name}, {"why", event.detail}});
  if (event.phase == PodPhase::ready)
    log_info("a pod is ready", {{"pod", event.name}, {"pid", event.pid}});
  host_.say("pod", {{"pod", event.name},
                    {"what", event.phase == PodPhase::ready     ? "ready"
                             : ended                            ? "ended"
                             : event.phase == PodPhase::pending ? "stuck"
                                                                : "started"},
                    {"reason", event.reason},
                    {"detail", event.detail}});
}

void RunEngine::publish() {
  for (const auto& [type, data] :
       progress_.look(phase(), dispatcher_.status(), dispatcher_.live().size(),
                      dispatcher_.accepted_total(), sandboxes_.counts())) {
    if (type == "stage" || type == "phase" || type == "pause" || type == "evaluation")
      log_info(type, {{"data", json_text(data)}});
    host_.say(type, data);
  }
  handles_.sandboxes(sandboxes_.counts(), sandboxes_.circuit_open());
  handles_.assignments(dispatcher_);
}

/// Why a pod's end ends the run, with the end of its log.
std::string RunEngine::cannot_go_on(const std::string& pod, const std::string& reason) const {
  return pod + " cannot go on (" + reason + ")" + setup_.log_of(pod);
}

void RunEngine::pod_failed(PodError error) {
  if (kind_of(error.code) != FailureKind::give_up) return;
  fail(std::move(error.message),
       error.code == PodErrc::disk_full ? exit_code::kNotWritable : exit_code::kMissing);
  wake();
}

/// A sandbox that says why it can never start here: the next one would say the same.
void RunEngine::sandbox_ended(const PodEvent& event) {
  const int code = event.exit_code.value_or(0);
  if (!is_final(code)) return;
  pod_failed({code == exit_code::kNotWritable ? PodErrc::disk_full : PodErrc::missing,
              cannot_go_on(event.name, event.detail)});
}

/// Notices that the run is over, whichever way.
void RunEngine::look_for_the_end() {
  if (ending_) return;
  if (const auto& lost = workloads_.reconciler().given_up(); lost && failure_.empty()) {
    const int code = lost->exit_code.value_or(exit_code::kMissing);
    fail(cannot_go_on(lost->pod, lost->reason), code == 0 ? 1 : code);
  }
  if (dispatcher_.counters().replaced_in_a_row >= kHopelessGroups &&
      clock_.now() - delivered_ >= kHopelessTime)
    fail("every rollout is lost (last cause: " + last_cause_ + ")" + setup_.log_of(""), 1);
}

Task<> RunEngine::end_in_order() {
  const StopGraces graces;
  const bool well = succeeded();
  ending_ = true;
  dispatcher_.cancel_all("the run ends");
  act();
  publish();
  co_await workloads_.stop(Component::rollout_worker, graces.rollout_worker);
  co_await sandboxes_.end_all(graces.sandbox);
  co_await workloads_.stop(Component::policy, graces.policy);
  control_desk_.stop(well ? "done" : "the controller stops");
  co_await workloads_.stop(Component::learner, graces.learner);
  work_stop_.request(StopReason::requested);
  try {
    co_await work_.join();
  } catch (const std::exception& fault) {
    log_error("a task of the run threw", {{"what", fault.what()}});
    fail(fault.what(), exit_code::kBug);
  }
}

Task<> RunEngine::leave() {
  ending_ = true;
  work_stop_.request(StopReason::requested);
  wake();
  try {
    co_await work_.join();
  } catch (const std::exception& fault) {
    log_error("a task of the run threw", {{"what", fault.what()}});
    fail(fault.what(), exit_code::kBug);
  }
  pods_stop_.request(StopReason::requested);
  co_await pods_gate_.join();
}

std::string RunEngine::still_running() const { return still_running_in({&work_, &pods_gate_}); }

}  // namespace swage::controller
