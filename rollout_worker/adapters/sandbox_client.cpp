#include "rollout_worker/adapters/sandbox_client.hpp"

#include <utility>

#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/base/check.hpp"
#include "common/log/log.hpp"
#include "common/rpc/channel.hpp"
#include "common/rpc/client.hpp"
#include "rollout_worker/adapters/backoff.hpp"
#include "rollout_worker/adapters/convert.hpp"
#include "swage/v1/sandbox.grpc.pb.h"

namespace swage::rollout_worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kHelloFor{10};  ///< a claimed sandbox is ready; it answers at once

using Call = BidiCall<v1::SessionDown, v1::SessionUp>;

class RemoteSandbox final : public SandboxSession {
 public:
  RemoteSandbox(asio::any_io_executor strand, Clock& clock, const Assignment& assignment)
      : clock_(clock),
        endpoint_(assignment.sandbox),
        key_(assignment.key),
        stub_(v1::Sandbox::NewStub(make_channel(endpoint_.address))),
        orders_(strand),
        gate_(strand, stop_) {
    *lay_.mutable_task() = to_wire(assignment.task);
    lay_.set_profile_scores(assignment.one_machine);
  }

  Task<Result<SandboxIdentity, SandboxErrc>> open(Listener listener, StopSource& stop) override {
    listener_ = std::move(listener);
    auto hello = co_await greet(stop);
    if (!hello) co_return tl::unexpected(hello.error());
    call_ = Call::open(
        {long_stream_deadline(), endpoint_.token},
        [&](auto* context, auto* reactor) { stub_->async()->Session(context, reactor); });
    v1::SessionDown lay;
    *lay.mutable_lay() = std::move(lay_);
    orders_.push(std::move(lay));
    check(gate_.spawn("sandbox writer", write_orders()), "the gate is open");
    check(gate_.spawn("sandbox reader", read_events()), "the gate is open");
    co_return std::move(*hello);
  }

  void send(SandboxOrder order) override { orders_.push(to_wire(order)); }

  Task<> close() override {
    listener_ = nullptr;
    stop_.request(StopReason::requested);
    orders_.close();
    if (call_) call_.cancel();
    co_await gate_.join();
    if (!call_) co_return;
    const auto status = co_await call_.finish();
    if (lost_)
      log_warning("sandbox lost", {{"rollout_id", key_.id},
                                   {"sandbox", endpoint_.uid},
                                   {"code", static_cast<int>(status.error_code())},
                                   {"why", status.error_message()}});
  }

 private:
  Task<Result<SandboxIdentity, SandboxErrc>> greet(StopSource& stop) {
    const auto until = clock_.now() + kHelloFor;
    Backoff backoff(milliseconds(50), milliseconds(500));
    while (!stop.stopping() && clock_.now() < until) {
      v1::HelloRequest request;
      *request.mutable_rollout() = to_wire(key_);
      const auto reply = co_await unary_call(*stub_->async(), &v1::Sandbox::Stub::async::Hello,
                                             std::move(request), {until, endpoint_.token}, stop);
      if (reply) {
        if (reply->pod_uid() != endpoint_.uid) co_return tl::unexpected(SandboxErrc::wrong_pod);
        co_return SandboxIdentity{reply->isolation(),
                                  {reply->missing().begin(), reply->missing().end()}};
      }
      if (kind_of(reply.error()) != FailureKind::retry) {
        log_warning("sandbox refuses", {{"rollout_id", key_.id}, {"why", reply.error().message}});
        co_return tl::unexpected(SandboxErrc::wrong_pod);
      }
      co_await clock_.sleep_for(backoff.next(), stop);
    }
    co_return tl::unexpected(SandboxErrc::lost);
  }

  Task<> write_orders() {
    while (auto order = co_await orders_.pop(stop_))
      if (!co_await call_.write(std::move(*order))) break;  // the reader says that it is over
    orders_.close();
  }

  Task<> read_events() {
    while (auto message = co_await call_.read()) {
      auto event = from_wire(std::move(*message));
      if (event && listener_) listener_(std::move(event));
    }
    orders_.close();
    lost_ = listener_ != nullptr;  // nobody has asked for the end
    if (listener_) listener_(std::nullopt);
  }

  Clock& clock_;
  const SandboxEndpoint endpoint_;
  const RolloutKey key_;
  const std::unique_ptr<v1::Sandbox::Stub> stub_;
  v1::LayWork lay_;
  Listener listener_;
  Call call_;
  bool lost_ = false;  ///< the stream ended before close()
  Mailbox<v1::SessionDown> orders_;
  StopSource stop_;
  Gate gate_;
};

class RemoteSandboxes final : public SandboxConnector {
 public:
  RemoteSandboxes(asio::any_io_executor strand, Clock& clock)
      : strand_(std::move(strand)), clock_(clock) {}
  std::unique_ptr<SandboxSession> connect(const Assignment& assignment) override {
    return std::make_unique<RemoteSandbox>(strand_, clock_, assignment);
  }

 private:
  asio::any_io_executor strand_;
  Clock& clock_;
};

}  // namespace

std::unique_ptr<SandboxConnector> make_sandbox_connector(asio::any_io_executor strand,
                                                         Clock& clock) {
  return std::make_unique<RemoteSandboxes>(std::move(strand), clock);
}

}  // namespace swage::rollout_worker
