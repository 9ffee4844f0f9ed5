#include "controller/core/workload_reconciler.hpp"

#include <algorithm>
#include <utility>

#include "common/base/check.hpp"

namespace swage::controller {

WorkloadReconciler::WorkloadReconciler(std::vector<DesiredPod> desired, RestartPolicy policy)
    : policy_(policy) {
  for (auto& pod : desired) {
    pods_.emplace_back();
    pods_.back().desired = std::move(pod);
  }
}

std::vector<WorkloadReconciler::Start> WorkloadReconciler::tick(TimePoint now) {
  std::vector<Start> out;
  if (given_up_) return out;
  const auto ready = [this](const std::string& name) {
    return std::any_of(pods_.begin(), pods_.end(), [&](const Pod& pod) {
      return pod.desired.name == name && pod.alive && pod.phase == PodPhase::ready;
    });
  };
  for (auto& pod : pods_) {
    if (pod.alive || pod.released || now < pod.due) continue;
    if (!std::all_of(pod.desired.after.begin(), pod.desired.after.end(), ready)) continue;
    pod.alive = true;
    pod.phase = PodPhase::pending;
    pod.ready_since.reset();
    out.push_back({pod.desired.name, pod.desired.component, pod.restarts});
  }
  return out;
}

void WorkloadReconciler::started(const std::string& name, const std::string& uid) {
  for (auto& pod : pods_)
    if (pod.desired.name == name) pod.uid = uid;
}

bool WorkloadReconciler::adopted(const std::string& name, const std::string& uid) {
  for (auto& pod : pods_) {
    if (pod.desired.name != name) continue;
    pod.alive = true;
    pod.uid = uid;
    return true;
  }
  return false;
}

void WorkloadReconciler::start_failed(const std::string& name, const PodError& error,
                                      TimePoint now) {
  for (auto& pod : pods_) {
    if (pod.desired.name != name) continue;
    pod.alive = false;
    pod.phase = PodPhase::failed;
    pod.reason = error.reason;
    pod.detail = error.message;
    if (kind_of(error.code) == FailureKind::give_up && !given_up_)
      given_up_ = GivenUp{name, std::nullopt, error.message};
    delay(pod, now);
  }
}

void WorkloadReconciler::observed(const PodEvent& event, TimePoint now) {
  for (auto& pod : pods_) {
    if (pod.desired.name != event.name || pod.uid != event.uid) continue;
    pod.phase = event.phase;
    pod.pid = event.pid;
    pod.http_port = event.http_port;
    pod.address = event.address;
    pod.reason = event.reason;
    pod.detail = event.detail;
    if (event.phase == PodPhase::ready) pod.ready_since = now;
    if (event.phase != PodPhase::succeeded && event.phase != PodPhase::failed) return;
    pod.alive = false;
    pod.pid = 0;
    if (!pod.released) schedule(pod, event.exit_code, event.detail, now);
    return;
  }
}

void WorkloadReconciler::delay(Pod& pod, TimePoint now) const {
  if (pod.ready_since && now - *pod.ready_since >= policy_.forget_after) pod.delay = {};
  pod.due = now + pod.delay;
  pod.delay = pod.delay == Duration{} ? policy_.first_delay
                                      : std::min(pod.delay * 2, policy_.longest_delay);
}

void WorkloadReconciler::schedule(Pod& pod, std::optional<int> exit_code, const std::string& detail,
                                  TimePoint now) {
  if (given_up_) return;
  if (exit_code && is_final(*exit_code)) {
    given_up_ = GivenUp{pod.desired.name, exit_code, detail};
    return;
  }
  delay(pod, now);
  std::erase_if(pod.restarted, [&](TimePoint at) { return now - at > policy_.window; });
  pod.restarted.push_back(now);
  if (pod.restarted.size() > policy_.budget) {
    given_up_ = GivenUp{pod.desired.name, exit_code,
                        "ended " + std::to_string(pod.restarted.size()) +
                            " times within its restart window, last: " + detail};
    return;
  }
  ++pod.restarts;
  ++restarts_;
}

void WorkloadReconciler::release(const std::string& name) {
  for (auto& pod : pods_)
    if (pod.desired.name == name) pod.released = true;
}

bool WorkloadReconciler::all_ready() const {
  return std::all_of(pods_.begin(), pods_.end(),
                     [](const Pod& pod) { return pod.alive && pod.phase == PodPhase::ready; });
}

std::map<std::string, WorkloadReconciler::Observed> WorkloadReconciler::pods() const {
  std::map<std::string, Observed> out;
  for (const auto& pod : pods_)
    out[pod.desired.name] = {pod.desired.component, pod.phase,   pod.uid,    pod.restarts, pod.pid,
                             pod.http_port,         pod.address, pod.reason, pod.detail};
  return out;
}

}  // namespace swage::controller
