#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/asio/clock.hpp"
#include "common/asio/gate.hpp"
#include "controller/api/assignment.hpp"
#include "controller/api/pod_backend.hpp"
#include "controller/api/run_layout.hpp"
#include "controller/core/sandbox_pool.hpp"

namespace swage::controller {

/// Carries out what SandboxPool decides: names, starts and ends sandbox pods.
/// Thread: the strand of its gate. Life: await end_all() before it goes.
class Sandboxes {
 public:
  /// create_rate: sandboxes a second. key: of the tokens. failed: called when a sandbox cannot be
  /// started.
  Sandboxes(PodBackend& backend, const RunLayout& layout, const TrainingRun& run,
            double create_rate, Clock& clock, Gate& gate, std::string key,
            std::function<void(PodError)> failed);

  /// A sandbox of an earlier controller.
  void adopt(const LivePod& pod);
  /// rollouts_left: that could still want one. live: uids that a rollout holds.
  void pump(std::uint64_t rollouts_left, const std::set<std::string>& live);
  std::optional<SandboxAddress> claim();
  /// The pod of this uid; empty if there is none.
  std::string name_of(const std::string& uid) const;
  /// Why the newest sandbox that does not start does not, or the newest creation was refused.
  const std::string& trouble_reason() const { return trouble_reason_; }
  const std::string& trouble() const { return trouble_; }
  /// What the newest sandbox could reach and must not; empty: nothing.
  const std::string& leak() const { return leak_; }
  void free(const std::string& uid);
  /// Whether it tells of a sandbox that has ended though nobody asked it to.
  bool observed(const PodEvent& event);
  Task<> end_all(std::chrono::milliseconds grace);

  SandboxCounts counts() const { return pool_.counts(); }
  bool circuit_open() const { return pool_.circuit_open(); }

 private:
  struct Known {
    std::string name;
    std::string token;
    std::string address = {};  ///< of its gRPC, empty if its backend does not say
    unsigned agent_uid = 0;
  };
  void create();
  Task<> start(std::string uid, PodSpec spec);
  Task<> end(std::string uid, std::string name, std::chrono::milliseconds grace);
  std::string token_of(const std::string& name) const;
  unsigned draw_agent_uid() const;

  PodBackend& backend_;
  const RunLayout& layout_;
  std::string run_;
  std::string space_;
  Clock& clock_;
  Gate& gate_;
  std::string key_;
  std::function<void(PodError)> failed_;
  SandboxPool pool_;
  std::map<std::string, Known> known_;  ///< by uid
  std::string trouble_reason_, trouble_, leak_;
  bool closing_ = false;
};

}  // namespace swage::controller
