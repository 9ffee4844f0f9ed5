#pragma once

#include "learner/api/status.hpp"
#include "swage/v1/control.pb.h"

namespace swage::learner {

v1::LearnerStatus to_message(const Status& status, const std::string& run_uid);

}  // namespace swage::learner
