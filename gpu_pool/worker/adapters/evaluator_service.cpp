#include "gpu_pool/worker/adapters/evaluator_service.hpp"

#include <chrono>
#include <utility>

#include "common/log/log.hpp"
#include "gpu_pool/worker/adapters/evaluator_messages.hpp"

namespace swage::worker {
namespace {

grpc::Status status_of(const Lost& lost) {
  switch (lost.why) {
    case Lost::Why::judge_lost:
      return {grpc::StatusCode::ABORTED, "the judge was lost"};
    case Lost::Why::not_ready:
      return {grpc::StatusCode::UNAVAILABLE, "the device is not ready"};
    case Lost::Why::time_limit:
      return {grpc::StatusCode::DEADLINE_EXCEEDED, "judging took longer than its mode allows"};
    case Lost::Why::cancelled:
      return {grpc::StatusCode::CANCELLED, "the evaluation was cancelled"};
  }
  return {grpc::StatusCode::INTERNAL, ""};
}

}  // namespace

grpc::ServerBidiReactor<v1::EvaluateRequest, v1::EvaluateResponse>* EvaluatorService::Evaluate(
    grpc::CallbackServerContext* context) {
  return serve_bidi<v1::EvaluateRequest, v1::EvaluateResponse>(
      home_, context,
      [this](Stream stream, StopSource& gone) { return evaluate(std::move(stream), gone); });
}

grpc::ServerUnaryReactor* EvaluatorService::Cancel(grpc::CallbackServerContext* context,
                                                   const v1::CancelEvaluationRequest* request,
                                                   v1::CancelEvaluationResponse* response) {
  return serve_unary<v1::CancelEvaluationResponse>(
      home_, context, response, [this, request] { return cancel(request->request()); });
}

Task<ReplyOr<v1::CancelEvaluationResponse>> EvaluatorService::cancel(std::string request) {
  evaluator_.cancel(lease::RequestId(request));
  co_return v1::CancelEvaluationResponse{};
}

Task<grpc::Status> EvaluatorService::evaluate(Stream stream, StopSource& gone) {
  const auto first = co_await stream.read();
  if (!first || !first->has_start())
    co_return grpc::Status{grpc::StatusCode::INVALID_ARGUMENT, "the first message must be start"};
  auto call = call_from(first->start(), pool_);
  if (!call) co_return grpc::Status{grpc::StatusCode::INVALID_ARGUMENT, call.error()};
  const auto accepted = evaluator_.accept(std::move(*call));
  if (const auto* refused = std::get_if<Refused>(&accepted)) {
    std::ignore = co_await stream.write(refused_message(*refused));
    co_return grpc::Status::OK;
  }
  const auto evaluation = std::get<std::shared_ptr<OpenEvaluation>>(accepted);
  Upload upload{first->start().bundle_id(), first->start().bundle_bytes(), {}};
  // The reader ends with the call: its last read fails when the status has been sent.
  std::ignore =
      home_.gate.spawn("evaluation reader", read_rest(stream, evaluation, std::move(upload)));
  co_return co_await write_all(stream, evaluation, gone);
}

Task<> EvaluatorService::read_rest(Stream stream, std::shared_ptr<OpenEvaluation> evaluation,
                                   Upload upload) {
  while (auto message = co_await stream.read()) {
    if (message->has_extend()) {
      evaluation->extend(std::chrono::milliseconds(message->extend().valid_for_ms()));
    } else if (message->has_chunk()) {
      take_chunk(*evaluation, upload, std::move(*message->mutable_chunk()));
    }
  }
}

void EvaluatorService::take_chunk(OpenEvaluation& evaluation, Upload& upload, std::string chunk) {
  if (!evaluation.wants_bundle()) return;  // another call has brought it
  upload.bytes += chunk;
  if (upload.bytes.size() < upload.size) return;
  if (upload.bytes.size() > upload.size)
    return evaluation.refuse_bundle("more bytes came than were announced");
  if (auto ok = check_bundle(upload.bytes, upload.id); !ok)
    return evaluation.refuse_bundle(ok.error());
  evaluation.give_bundle(std::move(upload.bytes));
}

Task<grpc::Status> EvaluatorService::write_all(Stream stream,
                                               std::shared_ptr<OpenEvaluation> evaluation,
                                               StopSource& gone) {
  std::uint64_t told = 0;
  while (const auto progress = co_await evaluation->next(told, gone)) {
    const bool ok = co_await stream.write(progress_message(*progress));
    if (!ok) break;
  }
  const auto& ending = evaluation->ending();
  if (!ending) co_return grpc::Status::CANCELLED;
  if (const auto* lost = std::get_if<Lost>(&*ending)) co_return status_of(*lost);
  if (const auto* refused = std::get_if<Refused>(&*ending)) {
    std::ignore = co_await stream.write(refused_message(*refused));
  } else {
    std::ignore = co_await stream.write(verdict_message(std::get<judge::JudgeOutcome>(*ending)));
  }
  co_return grpc::Status::OK;
}

}  // namespace swage::worker
