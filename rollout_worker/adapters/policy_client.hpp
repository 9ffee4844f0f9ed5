#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/asio/clock.hpp"
#include "rollout_worker/api/dispatcher.hpp"
#include "rollout_worker/api/policy.hpp"

namespace swage::rollout_worker {

/// How the worker talks to policy servers.
struct PolicyClientSettings {
  std::string token;                    ///< internal bearer token
  std::string tokenizer_digest;         ///< a server with another one is refused
  std::vector<std::uint32_t> stop_ids;  ///< that end a message
};

/// The run's policy servers over gRPC. A session sticks to the server that it began on, and moves
/// to another one when that breaks: the new server gets the whole prefix. Versions never fall
/// within a session. Thread: one strand. Life: outlives its sessions.
class PolicyServers : public PolicyDirectory {
 public:
  /// Newest knowledge of the dispatcher.
  virtual void update(std::vector<PolicyEndpoint> servers) = 0;
};

std::unique_ptr<PolicyServers> make_policy_servers(Clock& clock, PolicyClientSettings settings);

}  // namespace swage::rollout_worker
