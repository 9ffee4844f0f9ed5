#include "controller/app/workloads.hpp"

#include <utility>

#include "common/base/digest.hpp"
#include "common/base/stop_graces.hpp"
#include "common/log/log.hpp"

namespace swage::controller {
namespace {

constexpr auto kUnwantedGrace = kLearnerStop.grace;  // the longest: it may be any of them

}  // namespace

Workloads::Workloads(PodBackend& backend, const RunLayout& layout, Clock& clock, Gate& gate,
                     RestartPolicy policy, std::function<void()> changed)
    : backend_(backend),
      layout_(layout),
      clock_(clock),
      gate_(gate),
      changed_(std::move(changed)),
      reconciler_(layout.desired_pods(), policy) {}

void Workloads::adopt(const LivePod& pod) {
  if (reconciler_.adopted(pod.name, pod.uid)) return;
  std::ignore = gate_.spawn("end " + pod.name, remove(pod.name, pod.uid, kUnwantedGrace));
}

void Workloads::pump() {
  for (auto& wanted : reconciler_.tick(clock_.now())) {
    PodSpec spec{wanted.name, to_hex(random_bytes(16)), wanted.component,
                 layout_.pod_config(wanted.name, wanted.component)};
    reconciler_.started(spec.name, spec.uid);
    if (wanted.restarts > 0)
      log_warning("restarting a pod", {{"pod", spec.name}, {"restarts", wanted.restarts}});
    const auto task = "start " + spec.name;
    std::ignore = gate_.spawn(task, start(std::move(spec)));
  }
}

Task<> Workloads::start(PodSpec spec) {
  const auto name = spec.name;
  const auto made = co_await backend_.create(std::move(spec));
  if (made) co_return;
  log_error("a pod could not be started", {{"pod", name}, {"why", made.error().message}});
  reconciler_.start_failed(name, made.error(), clock_.now());
  changed_();
}

void Workloads::observed(const PodEvent& event) { reconciler_.observed(event, clock_.now()); }

Task<> Workloads::stop(Component component, std::chrono::milliseconds grace) {
  StopSource unused;
  Gate ending(co_await asio::this_coro::executor, unused);
  for (const auto& [name, pod] : reconciler_.pods()) {
    if (pod.component != component) continue;
    reconciler_.release(name);
    std::ignore = ending.spawn("end " + name, remove(name, pod.uid, grace));
  }
  co_await ending.join();
}

Task<> Workloads::remove(std::string name, std::string uid, std::chrono::milliseconds grace) {
  std::ignore = co_await backend_.remove(std::move(name), std::move(uid), grace);
}

std::vector<std::string> Workloads::ready_addresses(Component component) const {
  std::vector<std::string> out;
  for (const auto& [name, pod] : reconciler_.pods()) {
    if (pod.component != component || pod.phase != PodPhase::ready) continue;
    out.push_back(pod.address.empty() ? layout_.address_of(name) : pod.address);
  }
  return out;
}

}  // namespace swage::controller
