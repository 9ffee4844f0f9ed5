#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "learner/api/trajectory.hpp"
#include "swage/v1/trajectory.pb.h"

namespace swage::learner {

/// A trajectory as the core sees it. verdict_key: the pool's, for the HMAC of each verdict. Lengths
/// and ranges are not checked here: core/admission does. A verdict that does not parse counts as
/// not signed.
Trajectory trajectory_from(const v1::Trajectory& message, std::string_view verdict_key);

/// The same from serialised bytes; nothing if they are not a Trajectory.
std::optional<Trajectory> trajectory_from_bytes(const std::string& bytes,
                                                std::string_view verdict_key);

v1::Stage to_wire(Stage stage);
v1::StopReason to_wire(RolloutStop reason);

}  // namespace swage::learner
