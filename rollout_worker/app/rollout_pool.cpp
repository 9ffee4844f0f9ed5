#include "rollout_worker/app/rollout_pool.hpp"

#include <utility>

#include "common/base/check.hpp"
#include "common/log/log.hpp"

namespace swage::rollout_worker {

RolloutPool::RolloutPool(asio::any_io_executor strand, Services services,
                         DispatchReporter& reporter, std::size_t cap)
    : strand_(strand),
      services_(services),
      reporter_(reporter),
      side_(strand, drained_),
      rollouts_(strand, stop_, cap) {}

void RolloutPool::accept(Assignment assignment) {
  const auto key = assignment.key;
  if (const auto known = in_hand_.find(key); known != in_hand_.end())
    return reporter_.report(known->second->report());
  for (const auto& [other, rollout] : in_hand_) {
    if (other.id != key.id) continue;
    if (other.attempt > key.attempt) return refuse(key, "superseded");
    rollout->cancel();
  }
  if (draining_) return refuse(key, "worker_full");
  auto rollout = std::make_shared<Rollout>(
      strand_, services_, std::move(assignment),
      [this](RolloutReport report) { reporter_.report(std::move(report)); });
  if (!rollouts_.spawn(key.text(), run(rollout, key))) return refuse(key, "worker_full");
  in_hand_.emplace(key, std::move(rollout));
  services_.metrics.rollout_began();
}

void RolloutPool::refuse(const RolloutKey& key, const char* cause) {
  RolloutDone done;
  done.key = key;
  done.infrastructure_cause = cause;
  reporter_.done(std::move(done));
}

void RolloutPool::cancel(const RolloutKey& key) {
  const auto known = in_hand_.find(key);
  if (known != in_hand_.end()) known->second->cancel();
}

std::vector<RolloutReport> RolloutPool::in_hand() const {
  std::vector<RolloutReport> reports;
  reports.reserve(in_hand_.size());
  for (const auto& [key, rollout] : in_hand_) reports.push_back(rollout->report());
  return reports;
}

Task<> RolloutPool::run(std::shared_ptr<Rollout> rollout, RolloutKey key) {
  RolloutDone done;
  done.key = key;
  try {
    done = co_await rollout->run();
  } catch (const std::exception& e) {  // a bug kills this rollout, not its neighbours
    services_.metrics.rollout_threw();
    log_error("rollout threw", {{"rollout_id", key.id}, {"what", e.what()}});
    done.infrastructure_cause = "worker_fault";
  }
  in_hand_.erase(key);
  services_.metrics.rollout_ended(done);
  log_info("rollout ended", {{"rollout_id", key.id},
                             {"attempt", key.attempt},
                             {"reason", name_of(done.reason)},
                             {"cause", done.infrastructure_cause},
                             {"delivered", done.delivered},
                             {"reward", done.reward ? std::to_string(*done.reward) : ""},
                             {"turns", done.turns},
                             {"tokens", done.tokens}});
  reporter_.done(std::move(done));
}

Task<> RolloutPool::drain(TimePoint deadline) {
  draining_ = true;
  check(side_.spawn("cutoff", cut_off(deadline)), "drained once");
  co_await rollouts_.join();                // all finish, or are cut off
  drained_.request(StopReason::requested);  // wakes cut_off if it still sleeps
  co_await side_.join();
}

Task<> RolloutPool::cut_off(TimePoint deadline) {
  co_await services_.clock.sleep_until(deadline, drained_);
  for (const auto& [key, rollout] : in_hand_) rollout->cut_off();
}

}  // namespace swage::rollout_worker
