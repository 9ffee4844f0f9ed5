#include "rollout_worker/adapters/learner_client.hpp"

#include <algorithm>
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
#include "swage/v1/trajectory.grpc.pb.h"

namespace swage::rollout_worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Call = BidiCall<v1::Trajectory, v1::SubmitAnswer>;

/// One trajectory on its way. Its rollout and the stream share it; the rollout may go first.
struct Parcel {
  explicit Parcel(const asio::any_io_executor& strand) : answered(strand) {}
  std::shared_ptr<const Trajectory> trajectory;
  std::optional<Delivery> delivery;
  Event answered;
  bool abandoned = false;  ///< nobody waits any more
};

class RemoteLearner final : public LearnerClient {
 public:
  RemoteLearner(asio::any_io_executor strand, Clock& clock, std::string address, std::string token)
      : strand_(strand),
        clock_(clock),
        address_(std::move(address)),
        token_(std::move(token)),
        stub_(v1::Trajectories::NewStub(make_channel(address_))),
        work_(strand),
        gate_(strand, stop_) {}

  Task<Result<Delivery, DeliveryErrc>> deliver(std::shared_ptr<const Trajectory> trajectory,
                                               StopSource& stop) override {
    if (!started_) {
      started_ = true;
      check(gate_.spawn("learner stream", run()), "the gate is open");
    }
    auto parcel = std::make_shared<Parcel>(strand_);
    parcel->trajectory = std::move(trajectory);
    unsent_.push_back(parcel);
    work_.notify();
    while (!parcel->delivery && !stop.stopping()) co_await parcel->answered.wait(stop);
    if (const auto& delivery = parcel->delivery) co_return *delivery;
    parcel->abandoned = true;
    std::erase(unsent_, parcel);
    co_return tl::unexpected(DeliveryErrc::unanswered);
  }

  std::size_t waiting() const override { return unsent_.size() + sent_.size() + retrying_; }

  Task<> close() override {
    stop_.request(StopReason::requested);
    co_await gate_.join();
  }

 private:
  Task<> run() {
    Backoff backoff(milliseconds(100), seconds(2));
    while (!stop_.stopping()) {
      if (unsent_.empty()) {
        co_await work_.wait(stop_);
        continue;
      }
      answers_ = 0;
      const auto status = co_await one_stream();
      // What was not answered goes first again; the learner knows what it has already.
      unsent_.insert(unsent_.begin(), sent_.begin(), sent_.end());
      sent_.clear();
      std::erase_if(unsent_, [](const auto& parcel) { return parcel->abandoned; });
      if (stop_.stopping()) break;
      if (answers_ > 0) backoff.reset();
      log_debug("learner stream ended",
                {{"why", status.error_message()}, {"waiting", unsent_.size()}});
      co_await clock_.sleep_for(backoff.next(), stop_);
    }
  }

  Task<grpc::Status> one_stream() {
    call_ = Call::open({long_stream_deadline(), token_}, [&](auto* context, auto* reactor) {
      stub_->async()->Submit(context, reactor);
    });
    StopSource over;  // of this stream
    Gate reader(strand_, over);
    {
      const auto hook = stop_.on_stop([this] { call_.cancel(); });
      check(reader.spawn("learner reader", read_answers(over)), "the gate is open");
      while (!over.stopping() && !stop_.stopping()) {
        if (unsent_.empty()) {
          co_await work_.wait(over);
          continue;
        }
        auto parcel = unsent_.front();
        unsent_.pop_front();
        auto message = to_wire(*parcel->trajectory);
        if (message.ByteSizeLong() > kMaxMessageBytes) {
          refuse(*parcel, message.ByteSizeLong());
          continue;
        }
        sent_.push_back(parcel);
        if (!co_await call_.write(std::move(message))) break;
      }
      call_.cancel();
      co_await reader.join();
    }
    co_return co_await call_.finish();
  }

  /// No stream would take it, and nothing behind it would arrive.
  static void refuse(Parcel& parcel, std::size_t bytes) {
    log_error(
        "a trajectory is too large to send",
        {{"rollout_id", parcel.trajectory->key.id}, {"bytes", bytes}, {"limit", kMaxMessageBytes}});
    parcel.delivery = Delivery{SubmitAnswer::rejected, "too_large"};
    parcel.answered.notify();
  }

  /// `over` lives in one_stream(), which waits for us.
  Task<> read_answers(StopSource& over) {
    while (const auto answer = co_await call_.read()) {
      if (sent_.empty() || !take(*answer)) {
        log_error("the learner answers what was not asked", {{"rollout_id", answer->rollout_id()}});
        break;
      }
    }
    over.request(StopReason::requested);
  }

  /// Answers come in the order of sending. False: this one does not.
  bool take(const v1::SubmitAnswer& answer) {
    const auto parcel = sent_.front();
    const auto& key = parcel->trajectory->key;
    if (answer.rollout_id() != key.id.str() || answer.attempt() != key.attempt) return false;
    sent_.pop_front();
    ++answers_;
    switch (answer.code()) {
      case v1::SUBMIT_CODE_ACCEPTED:
        parcel->delivery = Delivery{SubmitAnswer::accepted, ""};
        break;
      case v1::SUBMIT_CODE_DUPLICATE:
        parcel->delivery = Delivery{SubmitAnswer::duplicate, answer.reason()};
        break;
      case v1::SUBMIT_CODE_REJECTED:
        log_error(
            "the learner rejects a trajectory",
            {{"rollout_id", key.id}, {"reason", answer.reason()}, {"detail", answer.detail()}});
        parcel->delivery = Delivery{SubmitAnswer::rejected, answer.reason()};
        break;
      default:
        log_warning("the learner asks to try again",
                    {{"rollout_id", key.id}, {"reason", answer.reason()}});
        if (!parcel->abandoned) retry_later(parcel);
        return true;
    }
    parcel->answered.notify();
    return true;
  }

  void retry_later(const std::shared_ptr<Parcel>& parcel) {
    if (gate_.spawn("retry", retry(parcel))) ++retrying_;
  }

  Task<> retry(std::shared_ptr<Parcel> parcel) {
    co_await clock_.sleep_for(retry_pause_.next(), stop_);
    --retrying_;
    if (stop_.stopping() || parcel->abandoned) co_return;
    unsent_.push_back(parcel);
    work_.notify();
  }

  asio::any_io_executor strand_;
  Clock& clock_;
  const std::string address_;
  const std::string token_;
  const std::unique_ptr<v1::Trajectories::Stub> stub_;
  std::deque<std::shared_ptr<Parcel>> unsent_;
  std::deque<std::shared_ptr<Parcel>> sent_;  ///< in order, not answered
  std::size_t retrying_ = 0;
  std::size_t answers_ = 0;  ///< on the stream in hand
  Backoff retry_pause_{milliseconds(500), seconds(10)};
  Call call_;
  bool started_ = false;
  Event work_;
  StopSource stop_;
  Gate gate_;
};

}  // namespace

std::unique_ptr<LearnerClient> make_learner_client(asio::any_io_executor strand, Clock& clock,
                                                   std::string address, std::string token) {
  return std::make_unique<RemoteLearner>(std::move(strand), clock, std::move(address),
                                         std::move(token));
}

}  // namespace swage::rollout_worker
