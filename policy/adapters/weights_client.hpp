#pragma once

#include <memory>
#include <string>

#include "common/rpc/client.hpp"
#include "policy/adapters/weights_service.hpp"

namespace swage::policy {

enum class FetchErrc {
  nothing_newer,  ///< the other side has no version above ours
  unreachable,    ///< or it broke off
  incompatible,   ///< it trains another model, or its manifest contradicts itself
  cancelled,
};

constexpr FailureKind kind_of(FetchErrc code) {
  switch (code) {
    case FetchErrc::nothing_newer:
    case FetchErrc::unreachable:
      return FailureKind::retry;
    case FetchErrc::incompatible:
      return FailureKind::give_up;
    case FetchErrc::cancelled:
      return FailureKind::cancelled;
  }
  return FailureKind::give_up;
}

struct FetchError {
  FetchErrc code = FetchErrc::unreachable;
  std::string detail;  ///< for people
};

/// Asks the learner, or another policy server, for its newest weights above `newer_than` and puts
/// them through `intake`. Returns the loaded version. Awaited on the strand of the assembly.
Task<Result<std::uint64_t, FetchError>> fetch_weights(v1::Weights::Stub& stub,
                                                      std::string config_digest,
                                                      std::uint64_t newer_than, CallOptions options,
                                                      WeightIntake& intake, StopSource& stop);

}  // namespace swage::policy
