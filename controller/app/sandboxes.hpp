#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/asio/clock.hpp"
#include "common/asio/gate.hpp"
#include "controller/adapters/local_layout.hpp"
#include "controller/api/assignment.hpp"
#include "controller/api/pod_backend.hpp"
#include "controller/core/sandbox_pool.hpp"

namespace swage::controller {

/// Carries out what SandboxPool decides: names, starts and ends sandbox pods.
/// Thread: the strand of its gate. Life: await end_all() before it goes.
class Sandboxes {
 public:
  /// key: of the tokens. failed: called when a sandbox cannot be started.
  Sandboxes(PodBackend& backend, const LocalLayout& layout, const TrainingRun& run, Clock& clock,
            Gate& gate, std::string key, std::function<void(PodError)> failed);

  /// rollouts_left: that could still want one. live: uids that a rollout holds.
  void pump(std::uint64_t rollouts_left, const std::set<std::string>& live);
  std::optional<SandboxAddress> claim();
  void free(const std::string& uid);
  void observed(const PodEvent& event);
  Task<> end_all(std::chrono::milliseconds grace);

  SandboxCounts counts() const { return pool_.counts(); }
  bool circuit_open() const { return pool_.circuit_open(); }

 private:
  struct Known {
    std::string name;
    std::string token;
    unsigned agent_uid = 0;
  };
  void create();
  Task<> start(std::string uid, PodSpec spec);
  Task<> end(std::string uid, std::string name, std::chrono::milliseconds grace);
  unsigned draw_agent_uid() const;

  PodBackend& backend_;
  const LocalLayout& layout_;
  std::string run_;
  std::string space_;
  Clock& clock_;
  Gate& gate_;
  std::string key_;
  std::function<void(PodError)> failed_;
  SandboxPool pool_;
  std::map<std::string, Known> known_;  ///< by uid
  bool closing_ = false;
};

}  // namespace swage::controller
