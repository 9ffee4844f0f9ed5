#include "sandbox/adapters/sandbox_service.hpp"

#include "common/base/digest.hpp"
#include "sandbox/adapters/sandbox_messages.hpp"
#include "swage/v1/sandbox.grpc.pb.h"

namespace swage::sandbox {
namespace {

using Stream = BidiStream<v1::SessionDown, v1::SessionUp>;

grpc::Status to_status(const SessionEnd& end) {
  switch (end.kind) {
    case SessionEnd::Kind::done:
      return grpc::Status::OK;
    case SessionEnd::Kind::bad_order:
      return {grpc::StatusCode::INVALID_ARGUMENT, end.why};
    case SessionEnd::Kind::refused:
      return {grpc::StatusCode::FAILED_PRECONDITION, end.why};
    case SessionEnd::Kind::lost:
      return {grpc::StatusCode::UNAVAILABLE, end.why};
    case SessionEnd::Kind::stopping:
      return {grpc::StatusCode::CANCELLED, end.why};
  }
  return grpc::Status::CANCELLED;
}

class StreamLink final : public SessionLink {
 public:
  explicit StreamLink(Stream stream) : stream_(std::move(stream)) {}
  Task<std::optional<SessionDown>> read() override {
    auto message = co_await stream_.read();
    if (!message) co_return std::nullopt;
    auto out = from_wire(std::move(*message));
    if (!out) stream_.end({grpc::StatusCode::INVALID_ARGUMENT, "a message without a kind"});
    co_return out;
  }
  Task<bool> write(SessionUp message) override {
    co_return co_await stream_.write(to_wire(std::move(message)));
  }
  void end(const SessionEnd& end) override { stream_.end(to_status(end)); }

 private:
  Stream stream_;
};

class Service final : public v1::Sandbox::CallbackService {
 public:
  Service(ServiceHome home, std::string token_sha256, SandboxHandler& handler)
      : home_(std::move(home)), token_sha256_(std::move(token_sha256)), handler_(handler) {}

  grpc::ServerUnaryReactor* Hello(grpc::CallbackServerContext* context,
                                  const v1::HelloRequest* request,
                                  v1::HelloResponse* reply) override {
    if (!may_call(*context)) {
      auto* reactor = context->DefaultReactor();
      reactor->Finish({grpc::StatusCode::UNAUTHENTICATED, "missing or wrong bearer token"});
      return reactor;
    }
    return serve_unary<v1::HelloResponse>(home_, context, reply,
                                          [this, request] { return hello(*request); });
  }

  grpc::ServerBidiReactor<v1::SessionDown, v1::SessionUp>* Session(
      grpc::CallbackServerContext* context) override {
    const bool allowed = may_call(*context);
    return serve_bidi<v1::SessionDown, v1::SessionUp>(
        home_, context, [this, allowed](Stream stream, StopSource& gone) {
          return session(std::move(stream), gone, allowed);
        });
  }

 private:
  bool may_call(const grpc::CallbackServerContext& context) const {
    if (token_sha256_.empty()) return true;
    const auto& metadata = context.client_metadata();
    const auto found = metadata.find("authorization");
    constexpr std::string_view kScheme = "Bearer ";
    if (found == metadata.end()) return false;
    const std::string_view value(found->second.data(), found->second.size());
    return value.starts_with(kScheme) &&
           constant_time_equal(sha256_hex(value.substr(kScheme.size())), token_sha256_);
  }

  Task<ReplyOr<v1::HelloResponse>> hello(v1::HelloRequest request) {
    const auto facts =
        handler_.hello({request.rollout().rollout_id(), request.rollout().attempt()});
    if (!facts)
      co_return tl::unexpected(RpcError{grpc::StatusCode::FAILED_PRECONDITION, facts.error()});
    v1::HelloResponse out;
    out.set_pod_uid(facts->pod_uid);
    out.set_isolation(facts->isolation);
    for (const auto& layer : facts->missing) out.add_missing(layer);
    co_return out;
  }

  Task<grpc::Status> session(Stream stream, StopSource& gone, bool allowed) {
    if (!allowed)
      co_return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "missing or wrong bearer token");
    StreamLink link(std::move(stream));
    co_await handler_.session(link, gone);
    co_return grpc::Status::OK;
  }

  ServiceHome home_;
  std::string token_sha256_;
  SandboxHandler& handler_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_sandbox_service(const ServiceHome& home,
                                                    std::string token_sha256,
                                                    SandboxHandler& handler) {
  return std::make_unique<Service>(home, std::move(token_sha256), handler);
}

}  // namespace swage::sandbox
