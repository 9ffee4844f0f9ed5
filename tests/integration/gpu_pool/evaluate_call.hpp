#pragma once

#include <optional>
#include <string>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "gpu_pool/lease/api/lease_holder.hpp"
#include "swage/v1/evaluate.pb.h"

namespace swage::test {

/// What one call of Evaluate brought.
struct Evaluated {
  std::string verdict;  ///< bytes; empty if none
  std::optional<v1::EvaluateRefusal> refusal;
  std::string status;  ///< of a call that ended with an error
  int progress = 0;    ///< messages
};

/// Calls Evaluate on `address` with a small bundle, cut in chunks. stop: cancels the call.
Task<Evaluated> evaluate(std::string address, std::string request, lease::Token token,
                         std::string auth, StopSource& stop);

/// The same under a lease: its loss cancels the call, its renewals are sent down.
Task<Evaluated> evaluate_under(lease::Lease& lease, std::string request, std::string auth);

}  // namespace swage::test
