#pragma once

#include <map>
#include <memory>
#include <vector>

#include "rollout_worker/api/dispatcher.hpp"
#include "rollout_worker/app/rollout.hpp"

namespace swage::rollout_worker {

/// Runs one agent loop per assignment, at most `cap` at once, and tells the dispatcher how each
/// ended. Thread: `strand`. Life: destroy it only after drain() has returned.
class RolloutPool {
 public:
  RolloutPool(asio::any_io_executor strand, Services services, DispatchReporter& reporter,
              std::size_t cap);

  /// Starts it. One that is in hand already is only reported again; a newer attempt replaces an
  /// older one. Full or draining: refused, and the dispatcher hears `worker_full`.
  void accept(Assignment assignment);
  /// Ends it without a reward; unknown rollouts are ignored.
  void cancel(const RolloutKey& key);
  std::vector<RolloutReport> in_hand() const;
  std::size_t size() const { return in_hand_.size(); }
  std::vector<std::string> names() const { return rollouts_.names(); }

  /// Takes no more, cuts off at `deadline` what still runs, returns when all have ended.
  Task<> drain(TimePoint deadline);

 private:
  Task<> run(std::shared_ptr<Rollout> rollout, RolloutKey key);
  Task<> cut_off(TimePoint deadline);
  void refuse(const RolloutKey& key, const char* cause);

  asio::any_io_executor strand_;
  Services services_;
  DispatchReporter& reporter_;
  std::map<RolloutKey, std::shared_ptr<Rollout>> in_hand_;
  bool draining_ = false;
  StopSource stop_, drained_;
  Gate side_, rollouts_;
};

}  // namespace swage::rollout_worker
