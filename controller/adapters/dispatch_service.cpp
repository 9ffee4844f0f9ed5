#include "controller/adapters/dispatch_service.hpp"

#include <utility>

#include "common/log/log.hpp"
#include "controller/adapters/messages.hpp"

namespace swage::controller {

DispatchService::DispatchService(ServiceHome home, std::string run_uid, WorkerListener& listener)
    : home_(std::move(home)), run_uid_(std::move(run_uid)), listener_(listener) {}

bool DispatchService::assign(const std::string& worker, const AssignmentOrder& order) {
  const auto found = boxes_.find(worker);
  if (found == boxes_.end()) return false;
  v1::DispatcherMessage message;
  *message.mutable_assignment() = to_wire(order);
  found->second->push(std::move(message));
  return true;
}

void DispatchService::cancel(const std::string& worker, const Attempt& attempt, std::uint64_t epoch,
                             const std::string& reason) {
  const auto found = boxes_.find(worker);
  if (found == boxes_.end()) return;
  v1::DispatcherMessage message;
  auto& cancel = *message.mutable_cancel();
  cancel.mutable_rollout()->set_rollout_id(attempt.rollout_id);
  cancel.mutable_rollout()->set_attempt(attempt.number);
  cancel.set_epoch(epoch);
  cancel.set_reason(reason);
  found->second->push(std::move(message));
}

void DispatchService::set_policies(std::vector<PolicyServer> servers) {
  policies_ = std::move(servers);
  for (const auto& [worker, box] : boxes_) box->push(policy_message());
}

v1::DispatcherMessage DispatchService::policy_message() const {
  v1::DispatcherMessage message;
  *message.mutable_policy_set() = to_wire(policies_);
  return message;
}

grpc::ServerBidiReactor<v1::WorkerMessage, v1::DispatcherMessage>* DispatchService::Work(
    grpc::CallbackServerContext* context) {
  return serve_bidi<v1::WorkerMessage, v1::DispatcherMessage>(
      home_, context,
      [this](Stream stream, StopSource& gone) { return serve(std::move(stream), gone); });
}

Task<grpc::Status> DispatchService::serve(Stream stream, StopSource&) {
  const auto first = co_await stream.read();
  if (!first || !first->has_hello())
    co_return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "the first message must be hello");
  const auto& hello = first->hello();
  if (hello.run_uid() != run_uid_)
    co_return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "a worker of another run");
  const std::string worker = hello.worker();
  const auto box = std::make_shared<Box>(home_.strand);
  if (const auto old = boxes_.find(worker); old != boxes_.end()) old->second->close();
  boxes_[worker] = box;
  listener_.worker_joined(worker, hello.capacity());
  box->push(policy_message());

  const auto ended = std::make_shared<StopSource>();
  Gate writing(home_.strand, *ended);
  std::ignore = writing.spawn("dispatch to " + worker, Box::run(box, stream, ended));
  co_await receive(worker, stream);
  ended->request(StopReason::requested);
  co_await writing.join();
  const auto still = boxes_.find(worker);
  if (still != boxes_.end() && still->second == box) {
    boxes_.erase(still);
    listener_.worker_left(worker);
  }
  co_return grpc::Status::OK;
}

Task<> DispatchService::receive(std::string worker, Stream stream) {
  while (const auto message = co_await stream.read()) {
    if (message->has_report()) {
      const auto& report = message->report();
      listener_.worker_reported(worker, {report.rollout().rollout_id(), report.rollout().attempt()},
                                report.turns(), report.tokens());
    } else if (message->has_done()) {
      listener_.worker_ended(worker, account_from(message->done()));
    } else {
      log_warning("a worker sent a message that does not belong here", {{"worker", worker}});
    }
  }
}

}  // namespace swage::controller
