#pragma once

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>
#include <string>
#include <vector>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"
#include "common/rpc/server.hpp"
#include "sandbox/api/session_link.hpp"

namespace swage::sandbox {

/// One attempt at one rollout.
struct RolloutRef {
  std::string rollout_id;
  std::uint32_t attempt = 0;
  bool operator==(const RolloutRef&) const = default;
};
/// What Hello answers.
struct SandboxFacts {
  std::string pod_uid, isolation;
  std::vector<std::string> missing;
};

/// What the gRPC service needs of a sandbox. Called on the service's strand.
class SandboxHandler {
 public:
  virtual ~SandboxHandler() = default;
  /// Error: a sentence; the sandbox belongs to another rollout.
  virtual Result<SandboxFacts, std::string> hello(const RolloutRef& rollout) = 0;
  /// Runs the one session, to its end. Ends the link at once when there may be none.
  virtual Task<> session(SessionLink& link, StopSource& gone) = 0;
};

/// swage.v1.Sandbox on a handler. token_sha256: of the bearer token that callers must show, 64 hex
/// digits; empty lets everybody in. The home's own token must be empty.
std::unique_ptr<grpc::Service> make_sandbox_service(const ServiceHome& home,
                                                    std::string token_sha256,
                                                    SandboxHandler& handler);

}  // namespace swage::sandbox
