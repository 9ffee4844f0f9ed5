#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "common/base/result.hpp"

namespace swage {

/// A gRPC status that is not OK. Adapters turn it into their module's enum.
struct RpcError {
  grpc::StatusCode code = grpc::StatusCode::UNKNOWN;
  std::string message;
};

/// retry: the same call may succeed later. Whether it may be repeated is the interface's to say.
constexpr FailureKind kind_of(const RpcError& error) {
  switch (error.code) {
    case grpc::StatusCode::CANCELLED:
      return FailureKind::cancelled;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::ABORTED:
      return FailureKind::retry;
    default:
      return FailureKind::give_up;
  }
}

}  // namespace swage
