#pragma once

#include <string>

#include "common/rpc/server.hpp"
#include "gpu_pool/worker/api/evaluator.hpp"
#include "swage/v1/evaluate.grpc.pb.h"

namespace swage::worker {

/// Serves evaluate.proto. A call whose client goes away does not end its evaluation: the same call
/// may come again and join it. Thread: gRPC's; the work runs on home.strand, which is that of
/// `evaluator`. Life: outlives the RpcServer.
class EvaluatorService final : public v1::Evaluator::CallbackService {
 public:
  EvaluatorService(ServiceHome home, Evaluator& evaluator, std::string pool)
      : home_(std::move(home)), evaluator_(evaluator), pool_(std::move(pool)) {}

  grpc::ServerBidiReactor<v1::EvaluateRequest, v1::EvaluateResponse>* Evaluate(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Cancel(grpc::CallbackServerContext* context,
                                   const v1::CancelEvaluationRequest* request,
                                   v1::CancelEvaluationResponse* response) override;

 private:
  using Stream = BidiStream<v1::EvaluateRequest, v1::EvaluateResponse>;
  /// What one call's reader and writer share.
  struct Upload {
    std::string id;
    std::uint64_t size = 0;
    std::string bytes;
  };

  Task<grpc::Status> evaluate(Stream stream, StopSource& gone);
  Task<> read_rest(Stream stream, std::shared_ptr<OpenEvaluation> evaluation, Upload upload);
  Task<grpc::Status> write_all(Stream stream, std::shared_ptr<OpenEvaluation> evaluation,
                               StopSource& gone);
  static void take_chunk(OpenEvaluation& evaluation, Upload& upload, std::string chunk);
  Task<ReplyOr<v1::CancelEvaluationResponse>> cancel(std::string request);

  ServiceHome home_;
  Evaluator& evaluator_;
  std::string pool_;
};

}  // namespace swage::worker
