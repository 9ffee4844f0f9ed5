#include <unistd.h>

#include <exception>
#include <utility>

#include "common/log/log.hpp"
#include "controller/app/run_controller.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto kSaveEvery = 5s;
constexpr int kDiskFull = 74;
constexpr std::size_t kLastLines = 5;
/// So many groups given up in a row and so long without a delivery: nothing works here.
constexpr std::uint64_t kHopelessGroups = 10;
constexpr auto kHopelessTime = 120s;

/// The last lines of a pod's log, for whoever reads why a run failed.
std::string last_lines(const std::filesystem::path& log) {
  const auto text = read_file(log);
  if (!text || text->empty()) return {};
  std::size_t from = text->size() - 1;
  for (std::size_t lines = 0; from > 0; --from)
    if ((*text)[from - 1] == '\n' && ++lines == kLastLines) break;
  return text->substr(from);
}

}  // namespace

RunPhase RunController::phase() const {
  if (completed_unix_ms_ != 0) {
    if (succeeded_) return RunPhase::succeeded;
    if (!failure_.empty()) return RunPhase::failed;
  }
  if (ending_) return RunPhase::terminating;
  if (suspended_) return RunPhase::suspended;
  if (dispatcher_.status().pause) return RunPhase::paused;
  return dispatcher_.attached() ? RunPhase::running : RunPhase::pending;
}

RunFacts RunController::facts() const {
  return {setup_.file,
          setup_.out.run_uid(),
          phase(),
          dispatcher_,
          workloads_->reconciler(),
          totals_,
          sandboxes_->counts(),
          sandboxes_->circuit_open(),
          pool_.reachable(),
          epoch_,
          started_unix_ms_,
          completed_unix_ms_,
          failure_,
          setup_.out.evaluation_rollouts(),
          pool_.snapshot()};
}

json RunController::run_view() const { return run_json(facts()); }

json RunController::pool_view() const {
  return pool_json(setup_.file.pool, pool_.snapshot(), pool_.reachable());
}

RunApi::Resumed RunController::resume(const std::string& pause_id) {
  if (suspended_ && pause_id.empty()) {
    suspended_ = false;
    dispatcher_.suspend(false);
    wake();
    return Resumed::done;
  }
  const auto& pause = dispatcher_.status().pause;
  if (!pause) return Resumed::not_paused;
  if (pause->id != pause_id) return Resumed::wrong_pause;
  control_service_.resume(pause_id);
  return Resumed::done;
}

void RunController::suspend() {
  suspended_ = true;
  dispatcher_.suspend(true);
  wake();
}

void RunController::say(const std::string& type, const json& data) {
  events_.add(type, unix_ms(), data.dump(-1, ' ', false, json::error_handler_t::replace));
  event_added_.notify();
}

void RunController::publish() {
  for (const auto& [type, data] :
       progress_.look(phase(), dispatcher_.status(), dispatcher_.live().size(),
                      dispatcher_.accepted_total(), sandboxes_->counts())) {
    if (type == "stage" || type == "phase" || type == "pause" || type == "evaluation")
      log_info(type, {{"data", data.dump()}});
    say(type, data);
  }
  handles_.sandboxes(sandboxes_->counts(), sandboxes_->circuit_open());
  handles_.assignments(dispatcher_);
  handles_.pool(pool_.snapshot(), pool_.reachable());
  if (clock_.now() - saved_ >= kSaveEvery) save_totals();
}

void RunController::save_totals() {
  saved_ = clock_.now();
  auto totals = totals_;
  totals.wall_seconds = wall_seconds();
  totals.reissued += dispatcher_.counters().reissued;
  totals.infrastructure_failures += dispatcher_.counters().infrastructure_failed;
  totals.groups_replaced += dispatcher_.counters().groups_replaced;
  const auto saved = setup_.out.save_totals(totals);
  if (!saved && failure_.empty()) {
    failure_ = saved.error().message;
    failure_code_ = saved.error().disk_full ? 74 : 1;
  }
}

double RunController::wall_seconds() const {
  return totals_.wall_seconds + std::chrono::duration<double>(clock_.now() - began_).count();
}

/// Why a pod's end ends the run, with the end of its log.
std::string RunController::cannot_go_on(const std::string& pod, const std::string& reason) const {
  const auto log = setup_.out.root() / "logs" / (pod + ".log");
  const auto end = last_lines(log);
  return pod + " cannot go on (" + reason + "); its log is " + log.string() +
         (end.empty() ? "" : "; it ends with:\n" + end);
}

/// A sandbox that says why it can never start here: the next one would say the same.
void RunController::sandbox_ended(const PodEvent& event) {
  const int code = event.exit_code.value_or(0);
  if (!is_final(code)) return;
  pod_failed({code == kDiskFull ? PodErrc::disk_full : PodErrc::missing,
              cannot_go_on(event.name, event.detail)});
}

/// Notices that the run is over, whichever way.
void RunController::look_for_the_end() {
  if (ending_) return;
  if (const auto& lost = workloads_->reconciler().given_up(); lost && failure_.empty()) {
    failure_ = cannot_go_on(lost->pod, lost->reason);
    failure_code_ = lost->exit_code.value_or(69);
    if (failure_code_ == 0) failure_code_ = 1;
  }
  if (failure_.empty() && dispatcher_.counters().replaced_in_a_row >= kHopelessGroups &&
      clock_.now() - delivered_ >= kHopelessTime)
    failure_ = "every rollout is lost (last cause: " + last_cause_ + "); see the logs in " +
               (setup_.out.root() / "logs").string();
  succeeded_ =
      failure_.empty() && dispatcher_.attached() && dispatcher_.status().stage == Stage::done;
  if (!succeeded_ && failure_.empty() && !stop_.stopping()) return;
  ending_ = true;
  serving_ = false;
  if (!failure_.empty()) log_error("the run has failed", {{"why", failure_}});
  over_.notify();
}

/// Ends everything that was started, the last user of a thing before the thing.
Task<> RunController::end_in_order() {
  const StopGraces graces;
  dispatcher_.cancel_all("the run ends");
  act();
  publish();
  write_run_json("terminating");
  co_await workloads_->stop(Component::rollout_worker, graces.rollout_worker);
  co_await sandboxes_->end_all(graces.sandbox);
  co_await workloads_->stop(Component::policy, graces.policy);
  control_service_.stop(succeeded_ ? "done" : "the controller stops");
  co_await workloads_->stop(Component::learner, graces.learner);
  work_stop_.request(StopReason::requested);
  try {
    co_await work_.join();  // the pool's leader too, before its Redis
  } catch (const std::exception& fault) {
    log_error("a task of the controller threw", {{"what", fault.what()}});
    if (failure_.empty()) failure_ = fault.what();
    failure_code_ = 70;
  }
  co_await workloads_->stop(Component::gpu_worker, graces.gpu_worker);
  co_await workloads_->stop(Component::redis, graces.redis);
  co_await backend_->close();
  pods_stop_.request(StopReason::requested);
  co_await pods_gate_.join();
}

/// Writes what the run leaves. Returns the exit code.
int RunController::close_books() {
  completed_unix_ms_ = unix_ms();
  if (!totals_.stages.empty() && totals_.stages.back().ended_unix_ms == 0)
    totals_.stages.back().ended_unix_ms = completed_unix_ms_;
  save_totals();
  if (succeeded_) {
    const auto written =
        setup_.out.write_json("summary.json", summary_json(facts(), wall_seconds()));
    if (!written) {
      failure_ = written.error().message;
      failure_code_ = written.error().disk_full ? 74 : 1;
      log_error("cannot write summary.json", {{"why", failure_}});
    }
  }
  const bool failed = !failure_.empty();
  write_run_json(failed ? "failed" : succeeded_ ? "succeeded" : "stopped");
  return failed ? failure_code_ : 0;
}

Task<> RunController::stop_serving() {
  co_await http_->stop();
  rpc_stop_.request(StopReason::requested);
  co_await rpc_->shut_down(0s);
  co_await rpc_gate_.join();
}

void RunController::write_run_json(const std::string& state) {
  const json value{{"run", setup_.file.run.name},
                   {"run_uid", setup_.out.run_uid()},
                   {"http", "127.0.0.1:" + std::to_string(http_->port())},
                   {"pid", ::getpid()},
                   {"evaluation_rollouts", setup_.out.evaluation_rollouts()},
                   {"started", rfc3339(started_unix_ms_)},
                   {"file", (setup_.out.root() / "run.yaml").string()},
                   {"state", state}};
  const auto written = setup_.out.write_json("run.json", value);
  if (!written) log_error("cannot write run.json", {{"why", written.error().message}});
}

std::string RunController::still_running() const {
  std::string out;
  for (const auto* gate : {&work_, &pods_gate_, &rpc_gate_})
    for (const auto& name : gate->names()) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace swage::controller
