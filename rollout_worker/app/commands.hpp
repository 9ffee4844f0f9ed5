#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rollout_worker/adapters/policy_client.hpp"
#include "rollout_worker/api/dispatcher.hpp"
#include "rollout_worker/app/rollout_pool.hpp"

namespace swage::rollout_worker {

/// Hands the dispatcher's commands on. Thread: the worker's strand. Pool and servers outlive it.
class Commands final : public DispatchListener {
 public:
  Commands(RolloutPool& pool, PolicyServers& servers) : pool_(pool), servers_(servers) {}
  void assigned(Assignment assignment) override { pool_.accept(std::move(assignment)); }
  void cancelled(RolloutKey key, std::string /*reason*/) override { pool_.cancel(key); }
  void policies(std::vector<PolicyEndpoint> servers) override {
    servers_.update(std::move(servers));
  }
  std::vector<RolloutReport> in_hand() const override { return pool_.in_hand(); }

 private:
  RolloutPool& pool_;
  PolicyServers& servers_;
};

}  // namespace swage::rollout_worker
