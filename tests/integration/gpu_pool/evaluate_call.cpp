#include "tests/integration/gpu_pool/evaluate_call.hpp"

#include "common/asio/event.hpp"
#include "common/base/digest.hpp"
#include "common/rpc/channel.hpp"
#include "common/rpc/client.hpp"
#include "swage/v1/bundle.pb.h"
#include "swage/v1/evaluate.grpc.pb.h"

namespace swage::test {
namespace {

using Call = BidiCall<v1::EvaluateRequest, v1::EvaluateResponse>;

std::string bundle_bytes(std::string& id) {
  v1::Bundle bundle;
  auto& file = *bundle.add_files();
  file.set_path("model_new.py");
  file.set_mode(0444);
  file.set_content("class ModelNew: pass\n");
  id = sha256_hex("model_new.py 0444 " + std::to_string(file.content().size()) + " " +
                  sha256_hex(file.content()) + "\n");
  bundle.set_id(id);
  return bundle.SerializeAsString();
}

v1::EvaluateRequest start_message(const std::string& request, lease::Token token,
                                  const std::string& id, std::size_t bytes) {
  v1::EvaluateRequest message;
  auto& start = *message.mutable_start();
  start.set_request(request);
  start.mutable_lease_token()->set_epoch(token.epoch);
  start.mutable_lease_token()->set_counter(token.counter);
  start.mutable_rollout()->set_rollout_id("rollout-1");
  start.mutable_rollout()->set_attempt(1);
  start.set_run_uid("run");
  start.set_mode(v1::EVALUATION_MODE_VERIFY);
  start.mutable_task()->set_id("t");
  start.mutable_task()->set_source("class Model: pass\n");
  start.mutable_task()->set_digest(sha256_hex(start.task().source()));
  start.set_precision("official");
  start.set_bundle_id(id);
  start.set_bundle_bytes(bytes);
  start.set_valid_for_ms(12'000);
  start.set_client("client");
  return message;
}

Task<> write_all(Call& call, std::string request, lease::Token token) {
  std::string id;
  const std::string bytes = bundle_bytes(id);
  bool ok = co_await call.write(start_message(request, token, id, bytes.size()));
  for (std::size_t at = 0; ok && at < bytes.size(); at += 20) {
    v1::EvaluateRequest chunk;
    chunk.set_chunk(bytes.substr(at, 20));
    ok = co_await call.write(std::move(chunk));
  }
}

}  // namespace

Task<Evaluated> evaluate(std::string address, std::string request, lease::Token token,
                         std::string auth, StopSource& stop) {
  const auto stub = v1::Evaluator::NewStub(make_channel(address));
  auto call =
      Call::open({std::chrono::steady_clock::now() + std::chrono::seconds(60), auth},
                 [&](auto* context, auto* reactor) { stub->async()->Evaluate(context, reactor); });
  Evaluated outcome;
  {
    const auto hook = stop.on_stop([&call] { call.cancel(); });
    if (stop.stopping()) call.cancel();
    co_await write_all(call, request, token);
    while (auto message = co_await call.read()) {
      if (message->has_progress()) ++outcome.progress;
      if (message->has_refused()) outcome.refusal = message->refused().code();
      if (message->has_verdict()) outcome.verdict = message->verdict().verdict();
    }
  }
  const auto status = co_await call.finish();
  if (!status.ok()) outcome.status = status.error_message();
  co_return outcome;
}

Task<Evaluated> evaluate_under(lease::Lease& lease, std::string request, std::string auth) {
  co_return co_await evaluate(lease.address(), std::move(request), lease.token(), std::move(auth),
                              lease.lost());
}

}  // namespace swage::test
