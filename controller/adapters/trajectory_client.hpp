#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "swage/v1/trajectory.pb.h"

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

/// Bytes of token ids; ids are below the vocabulary.
using DecodeTokens = std::function<std::string(std::span<const std::uint32_t>)>;

/// Reads the learner's trajectory log. Thread: one strand. Life: outlives its calls.
class TrajectoryClient {
 public:
  virtual ~TrajectoryClient() = default;
  /// The whole trajectory as JSON (docs/openapi.json, schema Trajectory).
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
                                                         std::string token, DecodeTokens decode);

/// A trajectory for people: turns with the text of each message and observation, calls, rewards,
/// verdicts decoded, and the token arrays. Pure.
nlohmann::json trajectory_json(const v1::Trajectory& trajectory, const DecodeTokens& decode);
nlohmann::json line_json(const v1::TrajectoryLine& line);

}  // namespace swage::controller
