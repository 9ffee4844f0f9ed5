#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/asio/clock.hpp"
#include "controller/adapters/policy_info.hpp"
#include "controller/api/assignment.hpp"

namespace swage::controller {

/// Knows which policy servers serve and which weights each holds.
/// Thread: the strand it is awaited on. Life: run() must have returned before it goes.
class PolicyWatch {
 public:
  PolicyWatch(std::unique_ptr<PolicyInfo> info, Clock& clock)
      : info_(std::move(info)), clock_(clock) {}

  /// Asks each ready server four times a second until `stop`. ready: addresses now, in the order of
  /// the relay chain. changed: called with the new set whenever it differs from the last.
  Task<> run(std::function<std::vector<std::string>()> ready,
             std::function<void(std::vector<PolicyServer>)> changed, StopSource& stop);

  const std::vector<PolicyServer>& servers() const { return servers_; }

 private:
  std::unique_ptr<PolicyInfo> info_;
  Clock& clock_;
  std::vector<PolicyServer> servers_;
};

}  // namespace swage::controller
