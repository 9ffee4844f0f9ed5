#include "common/rpc/server.hpp"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <thread>

#include "common/base/digest.hpp"
#include "common/rpc/channel.hpp"

namespace swage {

bool authorised(const grpc::CallbackServerContext& context, const std::string& token) {
  if (token.empty()) return true;
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("authorization");
  if (found == metadata.end()) return false;
  return constant_time_equal({found->second.data(), found->second.size()}, "Bearer " + token);
}

Result<std::unique_ptr<RpcServer>, RpcError> RpcServer::start(
    const std::string& address, const std::vector<grpc::Service*>& services,
    const Keepalive& keepalive) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  for (const auto& [name, value] : arguments_of(keepalive)) builder.AddChannelArgument(name, value);
  for (auto* service : services) builder.RegisterService(service);
  auto server = builder.BuildAndStart();
  if (!server || port == 0)
    return tl::unexpected(RpcError{
        grpc::StatusCode::UNAVAILABLE,
        "cannot listen on " + address + ": in use or not permitted; choose another address"});
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(server), port));
}

RpcServer::~RpcServer() {
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
}

Task<> RpcServer::shut_down(Duration grace) {
  std::jthread helper;  // Shutdown blocks, and may not run on a thread that serves
  auto start = [&](auto done) {
    helper = std::jthread([this, grace, done] {
      server_->Shutdown(std::chrono::system_clock::now() +
                        std::chrono::duration_cast<std::chrono::system_clock::duration>(grace));
      done(true);
    });
  };
  co_await rpc_detail::await_completion<bool>(start);
}

}  // namespace swage
