#include "rollout_worker/adapters/judge_client.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/base/check.hpp"
#include "common/log/log.hpp"
#include "common/rpc/channel.hpp"
#include "common/rpc/client.hpp"
#include "rollout_worker/adapters/convert.hpp"
#include "rollout_worker/core/scoring.hpp"
#include "swage/v1/evaluate.grpc.pb.h"

namespace swage::rollout_worker {
namespace {

using std::chrono::seconds;

constexpr std::size_t kChunk = 1 << 20;
constexpr seconds kLongest{300};  ///< hold limit and transfer; the lease ends it earlier

using Call = BidiCall<v1::EvaluateRequest, v1::EvaluateResponse>;

JudgeErrc refusal(const v1::EvaluateRefused& refused) {
  switch (refused.code()) {
    case v1::EVALUATE_REFUSAL_STALE:
    case v1::EVALUATE_REFUSAL_DUPLICATE_TOKEN:
    case v1::EVALUATE_REFUSAL_LEASE_EXPIRED:
      return JudgeErrc::lease_over;
    case v1::EVALUATE_REFUSAL_DRAINING:
      return JudgeErrc::draining;
    default:
      return JudgeErrc::refused;
  }
}

/// One call. Lives in evaluate()'s frame.
class Evaluation {
 public:
  Evaluation(asio::any_io_executor strand, Clock& clock, lease::Lease& lease,
             const EvaluationOrder& order)
      : clock_(clock), lease_(lease), order_(order), renewals_(strand), gate_(strand, sent_) {}

  Task<Result<Judgement, JudgeErrc>> run(v1::Evaluator::Stub& stub, const std::string& token,
                                         StopSource& stop) {
    call_ =
        Call::open({std::min(clock_.now() + kLongest, long_stream_deadline()), token},
                   [&](auto* context, auto* reactor) { stub.async()->Evaluate(context, reactor); });
    lease_.on_renewed([this](TimePoint until) { renewals_.push(until); });
    Result<Judgement, JudgeErrc> result = tl::unexpected(JudgeErrc::broken);
    {
      const auto on_stop = stop.on_stop([this] { call_.cancel(); });
      const auto on_lost = lease_.lost().on_stop([this] { call_.cancel(); });
      check(gate_.spawn("evaluate writer", write()), "the gate is open");
      result = co_await read();
    }
    lease_.on_renewed({});
    sent_.request(StopReason::requested);
    call_.cancel();
    co_await gate_.join();
    const auto status = co_await call_.finish();
    if (result || result.error() != JudgeErrc::broken) co_return result;
    if (stop.stopping()) co_return tl::unexpected(JudgeErrc::cancelled);
    log_warning("evaluation broke off", {{"rollout_id", order_.rollout.id},
                                         {"request", order_.request},
                                         {"status", status.error_message()}});
    co_return tl::unexpected(JudgeErrc::broken);
  }

 private:
  std::uint32_t valid_for_ms(TimePoint until) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - clock_.now());
    return static_cast<std::uint32_t>(std::max<std::int64_t>(0, left.count()));
  }

  v1::EvaluateRequest start() const {
    v1::EvaluateRequest request;
    auto& start = *request.mutable_start();
    start.set_request(order_.request);
    start.mutable_lease_token()->set_epoch(lease_.token().epoch);
    start.mutable_lease_token()->set_counter(lease_.token().counter);
    *start.mutable_rollout() = to_wire(order_.rollout);
    start.set_run_uid(order_.run_uid);
    start.set_mode(to_wire(order_.mode));
    *start.mutable_task() = to_wire(order_.task);
    start.set_precision(order_.precision);
    start.set_bundle_id(order_.work.bundle_id);
    start.set_bundle_bytes(order_.work.encoded->size());
    start.set_valid_for_ms(valid_for_ms(lease_.usable_until()));
    start.set_one_machine(order_.one_machine);
    return request;
  }

  Task<> write() {
    if (!co_await call_.write(start())) co_return;
    const auto bytes = order_.work.encoded;
    for (std::size_t at = 0; at < bytes->size() && !sent_.stopping(); at += kChunk) {
      v1::EvaluateRequest chunk;
      chunk.set_chunk(bytes->substr(at, kChunk));
      if (!co_await call_.write(std::move(chunk))) co_return;
    }
    while (const auto until = co_await renewals_.pop(sent_)) {
      v1::EvaluateRequest extend;
      extend.mutable_extend()->set_valid_for_ms(valid_for_ms(*until));
      if (!co_await call_.write(std::move(extend))) co_return;
    }
  }

  Task<Result<Judgement, JudgeErrc>> read() {
    while (auto response = co_await call_.read()) {
      if (response->has_refused()) {
        const auto& refused = response->refused();
        log_warning("evaluation refused", {{"rollout_id", order_.rollout.id},
                                           {"request", order_.request},
                                           {"code", v1::EvaluateRefusal_Name(refused.code())},
                                           {"detail", refused.detail()}});
        co_return tl::unexpected(refusal(refused));
      }
      if (response->has_verdict()) co_return take(response->verdict());
    }
    co_return tl::unexpected(JudgeErrc::broken);
  }

  /// The verdict must be for what was asked: the learner would refuse another one.
  Result<Judgement, JudgeErrc> take(const v1::SignedVerdict& message) const {
    auto judgement = from_wire(message);
    v1::Verdict verdict;
    if (!judgement || !verdict.ParseFromString(message.verdict()) ||
        verdict.rollout_id() != order_.rollout.id.str() ||
        verdict.attempt() != order_.rollout.attempt || verdict.request() != order_.request ||
        verdict.task_digest() != order_.task.digest || judgement->mode != order_.mode) {
      log_error("verdict is not for what was asked",
                {{"rollout_id", order_.rollout.id}, {"request", order_.request}});
      return tl::unexpected(JudgeErrc::refused);
    }
    judgement->gpu = lease_.gpu().str();
    if (is_infrastructure(judgement->code))
      log_warning("a verdict that decides nothing", {{"rollout_id", order_.rollout.id},
                                                     {"request", order_.request},
                                                     {"code", judgement->code},
                                                     {"phase", verdict.phase()},
                                                     {"detail", verdict.detail()}});
    return std::move(*judgement);
  }

  Clock& clock_;
  lease::Lease& lease_;
  const EvaluationOrder& order_;
  Call call_;
  Mailbox<TimePoint> renewals_;
  StopSource sent_;
  Gate gate_;
};

class RemoteJudge final : public JudgeClient {
 public:
  RemoteJudge(asio::any_io_executor strand, Clock& clock, std::string token)
      : strand_(std::move(strand)), clock_(clock), token_(std::move(token)) {}

  Task<Result<Judgement, JudgeErrc>> evaluate(lease::Lease& lease, EvaluationOrder order,
                                              StopSource& stop) override {
    if (stop.stopping()) co_return tl::unexpected(JudgeErrc::cancelled);
    if (lease.lost().stopping()) co_return tl::unexpected(JudgeErrc::lease_over);
    const auto stub = v1::Evaluator::NewStub(make_channel(lease.address()));
    Evaluation evaluation(strand_, clock_, lease, order);
    auto result = co_await evaluation.run(*stub, token_, stop);
    if (!result && result.error() == JudgeErrc::cancelled) {
      StopSource never;
      v1::CancelEvaluationRequest request;
      request.set_request(order.request);
      std::ignore =
          co_await unary_call(*stub->async(), &v1::Evaluator::Stub::async::Cancel,
                              std::move(request), {clock_.now() + seconds(2), token_}, never);
    }
    co_return result;
  }

 private:
  asio::any_io_executor strand_;
  Clock& clock_;
  const std::string token_;
};

}  // namespace

std::unique_ptr<JudgeClient> make_judge_client(asio::any_io_executor strand, Clock& clock,
                                               std::string token) {
  return std::make_unique<RemoteJudge>(std::move(strand), clock, std::move(token));
}

}  // namespace swage::rollout_worker
