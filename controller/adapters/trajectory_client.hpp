#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/view/trajectory_json.hpp"

namespace swage::controller {

enum class TrajectoryErrc {
  not_found,    ///< not in the learner's log
  unreachable,  ///< the learner does not answer now
};
constexpr FailureKind kind_of(TrajectoryErrc code) {
  return code == TrajectoryErrc::unreachable ? FailureKind::retry : FailureKind::give_up;
}
struct TrajectoryError {
  TrajectoryErrc code = TrajectoryErrc::unreachable;
  std::string message;
};

/// Reads the learner's trajectory log. Thread: one strand. Life: outlives its calls.
class TrajectoryClient {
 public:
  virtual ~TrajectoryClient() = default;
  /// The whole trajectory as JSON (common/view/trajectory_json.hpp).
  virtual Task<Result<nlohmann::json, TrajectoryError>> get(std::string rollout_id,
                                                            TimePoint deadline,
                                                            StopSource& stop) = 0;
  /// {items, next_cursor}: lines after `cursor`, oldest first.
  virtual Task<Result<nlohmann::json, TrajectoryError>> list(std::uint64_t cursor,
                                                             std::uint32_t limit,
                                                             TimePoint deadline,
                                                             StopSource& stop) = 0;
};

std::unique_ptr<TrajectoryClient> make_trajectory_client(const std::string& address,
                                                         std::string token, DecodeIds decode);

}  // namespace swage::controller
