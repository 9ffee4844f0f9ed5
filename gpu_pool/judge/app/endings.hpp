#pragma once

#include "gpu_pool/judge/adapters/host.hpp"
#include "gpu_pool/judge/core/outcome.hpp"

namespace swage::judge {

/// What a failure of the candidate's host means for the verdict.
Ending candidate_ending(const HostFailure& failure);

/// The same for the hosts that run the task's own code.
Ending task_ending(const HostFailure& failure);

/// The line of a Python traceback that names the error (what it says may have more), or the last
/// one of a text that is none. The traceback itself belongs in the log.
std::string error_line(const std::string& text);

}  // namespace swage::judge
