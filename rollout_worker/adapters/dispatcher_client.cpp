#include "rollout_worker/adapters/dispatcher_client.hpp"

#include <deque>
#include <utility>

#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/base/check.hpp"
#include "common/log/log.hpp"
#include "common/rpc/channel.hpp"
#include "common/rpc/client.hpp"
#include "rollout_worker/adapters/backoff.hpp"
#include "rollout_worker/adapters/convert.hpp"
#include "swage/v1/dispatch.grpc.pb.h"

namespace swage::rollout_worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Call = BidiCall<v1::WorkerMessage, v1::DispatcherMessage>;

constexpr std::chrono::minutes kRepeatFor{10};  ///< ends that a new connection hears again
constexpr seconds kSayAlive{5};  ///< the dispatcher takes a stream silent for 20 s for dead

class RemoteDispatcher final : public DispatcherClient {
 public:
  RemoteDispatcher(asio::any_io_executor strand, Clock& clock, DispatcherSettings settings)
      : strand_(strand),
        clock_(clock),
        settings_(std::move(settings)),
        stub_(v1::Dispatch::NewStub(make_channel(settings_.address))),
        work_(strand),
        gate_(strand, stop_) {}

  void start(DispatchListener& listener) override {
    listener_ = &listener;
    check(gate_.spawn("dispatcher stream", run()), "the gate is open");
    check(gate_.spawn("dispatcher heartbeat", heartbeat()), "the gate is open");
  }

  void report(RolloutReport report) override {
    if (!connected_) return;  // the next connection begins with in_hand()
    v1::WorkerMessage message;
    *message.mutable_report() = to_wire(report);
    push(std::move(message));
  }

  void done(RolloutDone done) override {
    v1::WorkerMessage message;
    *message.mutable_done() = to_wire(done);
    forget_old_ends();
    dones_.push_back({clock_.now(), message.done()});
    if (connected_) push(std::move(message));
  }

  bool connected() const override { return connected_; }

  Task<> close(Duration flush) override {
    const auto until = clock_.now() + flush;
    while (connected_ && (!outbox_.empty() || writing_) && clock_.now() < until)
      co_await clock_.sleep_for(milliseconds(10), stop_);
    stop_.request(StopReason::requested);
    co_await gate_.join();
  }

 private:
  struct Ended {
    TimePoint at;
    v1::RolloutDone done;
  };

  void forget_old_ends() {
    while (!dones_.empty() && dones_.front().at + kRepeatFor < clock_.now()) dones_.pop_front();
  }

  void push(v1::WorkerMessage message) {
    outbox_.push_back(std::move(message));
    work_.notify();
  }

  Task<> run() {
    Backoff backoff(milliseconds(50), seconds(1));
    while (!stop_.stopping()) {
      received_ = false;
      const auto status = co_await one_stream();
      if (stop_.stopping()) break;
      if (received_) backoff.reset();
      log_debug("dispatcher stream ended", {{"why", status.error_message()}});
      co_await clock_.sleep_for(backoff.next(), stop_);
    }
  }

  /// Repeats what is in hand, so that a long turn is not taken for a dead worker.
  Task<> heartbeat() {
    while (!stop_.stopping()) {
      co_await clock_.sleep_for(kSayAlive, stop_);
      if (stop_.stopping() || !connected_) continue;
      for (auto& in_hand : listener_->in_hand()) report(std::move(in_hand));
    }
  }

  /// hello, what is in hand, what ended lately.
  void introduce() {
    outbox_.clear();
    v1::WorkerMessage message;
    auto& hello = *message.mutable_hello();
    hello.set_worker(settings_.worker);
    hello.set_capacity(settings_.capacity);
    hello.set_epoch_seen(epoch_);
    hello.set_run_uid(settings_.run_uid);
    push(std::move(message));
    for (const auto& in_hand : listener_->in_hand()) {
      v1::WorkerMessage report;
      *report.mutable_report() = to_wire(in_hand);
      push(std::move(report));
    }
    forget_old_ends();
    for (auto& ended : dones_) {
      v1::WorkerMessage done;
      *done.mutable_done() = ended.done;
      push(std::move(done));
    }
  }

  Task<grpc::Status> one_stream() {
    call_ =
        Call::open({long_stream_deadline(), settings_.token},
                   [&](auto* context, auto* reactor) { stub_->async()->Work(context, reactor); });
    introduce();
    connected_ = true;
    StopSource over;
    Gate reader(strand_, over);
    {
      const auto hook = stop_.on_stop([this] { call_.cancel(); });
      check(reader.spawn("dispatcher reader", read_commands(over)), "the gate is open");
      while (!over.stopping() && !stop_.stopping()) {
        if (outbox_.empty()) {
          co_await work_.wait(over);
          continue;
        }
        writing_ = true;
        auto message = std::move(outbox_.front());
        outbox_.pop_front();
        const bool written = co_await call_.write(std::move(message));
        writing_ = false;
        if (!written) break;
      }
      connected_ = false;
      call_.cancel();
      co_await reader.join();
    }
    co_return co_await call_.finish();
  }

  /// `over` lives in one_stream(), which waits for us.
  Task<> read_commands(StopSource& over) {
    while (auto message = co_await call_.read()) {
      received_ = true;
      if (message->has_policy_set()) {
        std::vector<PolicyEndpoint> servers;
        for (const auto& server : message->policy_set().servers())
          servers.push_back({server.address(), server.weight_version()});
        listener_->policies(std::move(servers));
      } else if (message->has_assignment()) {
        take(message->assignment());
      } else if (message->has_cancel() && current(message->cancel().epoch())) {
        listener_->cancelled(from_wire(message->cancel().rollout()), message->cancel().reason());
      }
    }
    over.request(StopReason::requested);
  }

  bool current(std::uint64_t epoch) {
    if (epoch < epoch_) {
      log_warning("refused a command of an old leader", {{"epoch", epoch}, {"seen", epoch_}});
      return false;
    }
    epoch_ = epoch;
    return true;
  }

  void take(const v1::Assignment& message) {
    const auto refuse = [&](std::string cause) {
      RolloutDone refused;
      refused.key = from_wire(message.rollout());
      refused.infrastructure_cause = std::move(cause);
      done(std::move(refused));
    };
    if (!current(message.epoch())) return refuse("stale_epoch");
    auto assignment = from_wire(message);
    if (!assignment) {
      log_error("assignment cannot be run",
                {{"rollout_id", message.rollout().rollout_id()}, {"field", assignment.error()}});
      return refuse("bad_assignment:" + assignment.error());
    }
    listener_->assigned(std::move(*assignment));
  }

  asio::any_io_executor strand_;
  Clock& clock_;
  const DispatcherSettings settings_;
  const std::unique_ptr<v1::Dispatch::Stub> stub_;
  DispatchListener* listener_ = nullptr;
  std::uint64_t epoch_ = 0;  ///< highest seen
  bool connected_ = false;
  bool received_ = false;  ///< anything on the stream in hand
  bool writing_ = false;
  std::deque<v1::WorkerMessage> outbox_;
  std::deque<Ended> dones_;  ///< by time
  Call call_;
  Event work_;
  StopSource stop_;
  Gate gate_;
};

}  // namespace

std::unique_ptr<DispatcherClient> make_dispatcher_client(asio::any_io_executor strand, Clock& clock,
                                                         DispatcherSettings settings) {
  return std::make_unique<RemoteDispatcher>(std::move(strand), clock, std::move(settings));
}

}  // namespace swage::rollout_worker
