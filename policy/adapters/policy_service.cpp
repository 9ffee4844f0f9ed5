#include "policy/adapters/policy_service.hpp"

#include <variant>

#include "common/asio/event.hpp"
#include "policy/adapters/convert.hpp"

namespace swage::policy {
namespace {

using Yield = std::variant<SampledTokens, GenerateEnd, GenerateRefusal>;
using Inbox = Mailbox<Yield>;

/// Passes what the engine's thread yields to the strand of the stream.
class PostingSink final : public TokenSink {
 public:
  PostingSink(asio::any_io_executor strand, std::shared_ptr<Inbox> inbox)
      : strand_(std::move(strand)), inbox_(std::move(inbox)) {}
  void tokens(SampledTokens tokens) override { pass(std::move(tokens)); }
  void end(GenerateEnd end) override { pass(end); }
  void refused(GenerateRefusal refusal) override { pass(std::move(refusal)); }

 private:
  void pass(Yield yield) {
    asio::post(strand_, [inbox = inbox_, yield = std::move(yield)]() mutable {
      inbox->push(std::move(yield));
    });
  }
  asio::any_io_executor strand_;
  std::shared_ptr<Inbox> inbox_;
};

grpc::StatusCode status_code(GenerateErrc code) {
  switch (code) {
    case GenerateErrc::no_weights:
    case GenerateErrc::old_weights:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case GenerateErrc::busy:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case GenerateErrc::session_busy:
      return grpc::StatusCode::ABORTED;
    case GenerateErrc::bad_request:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case GenerateErrc::broken_model:
      return grpc::StatusCode::INTERNAL;
    case GenerateErrc::shutting_down:
      return grpc::StatusCode::UNAVAILABLE;
  }
  return grpc::StatusCode::UNKNOWN;
}

/// Adds `more` to `tokens` if one version sampled both.
bool merge(SampledTokens& tokens, const Yield& more) {
  const auto* next = std::get_if<SampledTokens>(&more);
  if (!next || next->weight_version != tokens.weight_version) return false;
  tokens.ids.insert(tokens.ids.end(), next->ids.begin(), next->ids.end());
  tokens.behaviour_logprobs.insert(tokens.behaviour_logprobs.end(),
                                   next->behaviour_logprobs.begin(),
                                   next->behaviour_logprobs.end());
  return true;
}

TimePoint steady(std::chrono::system_clock::time_point deadline) {
  const auto left = deadline - std::chrono::system_clock::now();
  if (left > std::chrono::hours(24 * 365)) return TimePoint::max();
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<Duration>(left);
}

}  // namespace

Task<grpc::Status> PolicyService::generate(GenerateRequest request,
                                           WriteStream<v1::GenerateResponse> stream,
                                           StopSource& gone) {
  const auto inbox = std::make_shared<Inbox>(home_.strand);
  const auto id =
      engine_.generate(std::move(request), std::make_shared<PostingSink>(home_.strand, inbox));
  if (gone.stopping()) engine_.cancel(id);
  const auto hook = gone.on_stop([this, id] { engine_.cancel(id); });
  StopSource never;  // the engine ends every request
  auto next = co_await inbox->pop(never);
  while (next) {
    auto now = std::move(*next);
    next.reset();
    if (const auto* refused = std::get_if<GenerateRefusal>(&now))
      co_return grpc::Status(status_code(refused->code), refused->detail);
    if (const auto* end = std::get_if<GenerateEnd>(&now)) {
      co_await stream.write(to_proto(*end));
      co_return grpc::Status::OK;
    }
    auto& tokens = std::get<SampledTokens>(now);
    // While the last write was on its way more may have come: one message carries all of it.
    while (inbox->size() > 0 && !next) {
      next = co_await inbox->pop(never);
      if (next && merge(tokens, *next)) next.reset();
    }
    if (!co_await stream.write(to_proto(tokens))) engine_.cancel(id);
    if (!next) next = co_await inbox->pop(never);
  }
  co_return grpc::Status(grpc::StatusCode::INTERNAL, "the engine lost the request");
}

grpc::ServerWriteReactor<v1::GenerateResponse>* PolicyService::Generate(
    grpc::CallbackServerContext* context, const v1::GenerateRequest* request) {
  auto asked = from_proto(*request);
  asked.deadline = steady(context->deadline());
  return serve_write<v1::GenerateResponse>(
      home_, context,
      [this, asked = std::move(asked)](WriteStream<v1::GenerateResponse> stream,
                                       StopSource& gone) mutable {
        return generate(std::move(asked), std::move(stream), gone);
      });
}

Task<ReplyOr<v1::CloseSessionResponse>> PolicyService::close(std::string session) {
  engine_.close(std::move(session));
  co_return v1::CloseSessionResponse();
}

Task<ReplyOr<v1::PolicyInfo>> PolicyService::info() {
  const auto status = engine_.status();
  v1::PolicyInfo out;
  out.set_config_digest(model_.config_digest);
  out.set_tokenizer_digest(model_.tokenizer_digest);
  out.set_vocabulary(model_.vocabulary);
  out.set_context(model_.context);
  out.set_weight_version(status.weight_version);
  out.set_running(status.running);
  out.set_sessions(status.sessions);
  co_return out;
}

grpc::ServerUnaryReactor* PolicyService::Close(grpc::CallbackServerContext* context,
                                               const v1::CloseSessionRequest* request,
                                               v1::CloseSessionResponse* reply) {
  return serve_unary<v1::CloseSessionResponse>(
      home_, context, reply, [this, request] { return close(request->session()); });
}

grpc::ServerUnaryReactor* PolicyService::Info(grpc::CallbackServerContext* context,
                                              const v1::PolicyInfoRequest* /*request*/,
                                              v1::PolicyInfo* reply) {
  return serve_unary<v1::PolicyInfo>(home_, context, reply, [this] { return info(); });
}

}  // namespace swage::policy
