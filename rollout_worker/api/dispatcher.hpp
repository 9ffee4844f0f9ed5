#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rollout_worker/api/rollout.hpp"

namespace swage::rollout_worker {

struct PolicyEndpoint {
  std::string address;
  std::uint64_t weight_version = 0;
};

/// What the dispatcher tells the worker. Called on the worker's strand; must not throw.
class DispatchListener {
 public:
  virtual ~DispatchListener() = default;
  virtual void assigned(Assignment assignment) = 0;
  virtual void cancelled(RolloutKey key, std::string reason) = 0;
  virtual void policies(std::vector<PolicyEndpoint> servers) = 0;
  /// All rollouts in hand: told to the dispatcher after each (re)connection.
  virtual std::vector<RolloutReport> in_hand() const = 0;
};

/// What the worker tells the dispatcher. Queued over reconnections; reports of a broken connection
/// are replaced by in_hand(). Thread: the worker's strand.
class DispatchReporter {
 public:
  virtual ~DispatchReporter() = default;
  virtual void report(RolloutReport report) = 0;
  virtual void done(RolloutDone done) = 0;
};

}  // namespace swage::rollout_worker
