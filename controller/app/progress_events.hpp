#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "controller/app/run_view.hpp"

namespace swage::controller {

/// Turns what changed in a run since the last look into events for watchers. Pure.
class ProgressEvents {
 public:
  using Event = std::pair<std::string, nlohmann::json>;  ///< type and data

  /// phase, stage, step, reward, weights, progress, pause, condition and counts, each only when it
  /// changed.
  std::vector<Event> look(RunPhase phase, const LearnerStatus& status, std::size_t running,
                          std::size_t completed, const SandboxCounts& sandboxes);

 private:
  void say_if_new(const std::string& type, nlohmann::json data, std::vector<Event>& out);
  std::map<std::string, nlohmann::json> last_;
};

}  // namespace swage::controller
