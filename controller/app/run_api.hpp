#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "controller/adapters/trajectory_client.hpp"

namespace swage::controller {

/// One run as the HTTP API shows it and acts on it. Called on the server's strand.
class RunApi {
 public:
  virtual ~RunApi() = default;
  virtual nlohmann::json run_view() const = 0;
  virtual nlohmann::json live_rollouts() const = 0;
  virtual std::string run_name() const = 0;
  virtual std::string run_uid() const = 0;
  virtual TrajectoryClient& trajectories() = 0;
  enum class Resumed { done, wrong_pause, not_paused };
  /// Ends a suspension, or the guardrail pause of that id.
  virtual Resumed resume(const std::string& pause_id) = 0;
  virtual void suspend() = 0;
};

/// The runs and pools of one controller.
class RunIndex {
 public:
  virtual ~RunIndex() = default;
  virtual std::vector<RunApi*> runs() = 0;
  virtual std::vector<nlohmann::json> pool_views() const = 0;  ///< each with `name`, `namespace`
};

}  // namespace swage::controller
