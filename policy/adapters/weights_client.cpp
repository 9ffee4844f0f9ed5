#include "policy/adapters/weights_client.hpp"

namespace swage::policy {
namespace {

FetchErrc code_of(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::NOT_FOUND:
      return FetchErrc::nothing_newer;
    case grpc::StatusCode::CANCELLED:
      return FetchErrc::cancelled;
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::INVALID_ARGUMENT:
      return FetchErrc::incompatible;
    default:
      return FetchErrc::unreachable;
  }
}

}  // namespace

Task<Result<std::uint64_t, FetchError>> fetch_weights(v1::Weights::Stub& stub,
                                                      std::string config_digest,
                                                      std::uint64_t newer_than, CallOptions options,
                                                      WeightIntake& intake, StopSource& stop) {
  v1::FetchRequest request;
  request.set_config_digest(config_digest);
  request.set_newer_than(newer_than);
  auto call = ReadCall<v1::PutRequest>::open(options, [&](auto* context, auto* reactor) {
    stub.async()->Fetch(context, &request, reactor);
  });
  const auto hook = stop.on_stop([&call] { call.cancel(); });
  if (stop.stopping()) call.cancel();
  auto message = co_await call.read();
  auto answer = WeightAssembly::Offer{WeightAssembly::Answer::send, {}};
  bool complete = false;
  if (message) answer = intake.begin(*message);
  while (message && answer.answer == WeightAssembly::Answer::send && !complete) {
    message = co_await call.read();
    if (message) complete = intake.take(*message);
  }
  call.cancel();  // nothing more is wanted; harmless when the stream has ended
  const auto status = co_await call.finish();
  if (answer.answer == WeightAssembly::Answer::stale)
    co_return tl::unexpected(FetchError{FetchErrc::nothing_newer, answer.detail});
  if (answer.answer == WeightAssembly::Answer::incompatible)
    co_return tl::unexpected(FetchError{FetchErrc::incompatible, answer.detail});
  if (!complete)
    co_return tl::unexpected(FetchError{
        status.ok() ? FetchErrc::unreachable : code_of(status),
        status.ok() ? "the stream ended before the last chunk" : status.error_message()});
  if (!co_await intake.finish())
    co_return tl::unexpected(FetchError{FetchErrc::unreachable, "SHA-256 does not agree"});
  co_return intake.version();
}

}  // namespace swage::policy
