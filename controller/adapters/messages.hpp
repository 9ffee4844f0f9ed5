#pragma once

#include <vector>

#include "controller/adapters/dispatch_service.hpp"
#include "controller/api/assignment.hpp"
#include "controller/api/learner_view.hpp"
#include "swage/v1/control.pb.h"
#include "swage/v1/dispatch.pb.h"

namespace swage::controller {

// Between wire messages and the domain. Pure.

v1::Assignment to_wire(const AssignmentOrder& order);
v1::PolicySet to_wire(const std::vector<PolicyServer>& servers);
RolloutAccount account_from(const v1::RolloutDone& done);
LearnerStatus status_from(const v1::LearnerStatus& status);
/// Lower-case name of a proto enum value without its prefix, e.g. `turn_limit`.
std::string stop_reason_name(v1::StopReason reason);

}  // namespace swage::controller
