#pragma once

#include <string>

#include "common/rpc/server.hpp"
#include "policy/api/generation.hpp"
#include "swage/v1/policy.grpc.pb.h"

namespace swage::policy {

/// What Info says besides the engine's status.
struct ServedModel {
  std::string config_digest;
  std::string tokenizer_digest;
  std::uint32_t vocabulary = 0;
  std::uint32_t context = 0;
};

/// Serves swage.v1.Policy from an engine. Each stream is a coroutine on the home's strand; a client
/// that goes cancels its request. Life: outlives the RpcServer it is given to.
class PolicyService final : public v1::Policy::CallbackService {
 public:
  PolicyService(ServiceHome home, InferenceEngine& engine, ServedModel model)
      : home_(std::move(home)), engine_(engine), model_(std::move(model)) {}

  grpc::ServerWriteReactor<v1::GenerateResponse>* Generate(
      grpc::CallbackServerContext* context, const v1::GenerateRequest* request) override;
  grpc::ServerUnaryReactor* Close(grpc::CallbackServerContext* context,
                                  const v1::CloseSessionRequest* request,
                                  v1::CloseSessionResponse* reply) override;
  grpc::ServerUnaryReactor* Info(grpc::CallbackServerContext* context,
                                 const v1::PolicyInfoRequest* request,
                                 v1::PolicyInfo* reply) override;

 private:
  Task<grpc::Status> generate(GenerateRequest request, WriteStream<v1::GenerateResponse> stream,
                              StopSource& gone);
  Task<ReplyOr<v1::CloseSessionResponse>> close(std::string session);
  Task<ReplyOr<v1::PolicyInfo>> info();

  ServiceHome home_;
  InferenceEngine& engine_;
  ServedModel model_;
};

}  // namespace swage::policy
