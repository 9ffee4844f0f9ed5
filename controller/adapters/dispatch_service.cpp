#include "controller/adapters/dispatch_service.hpp"

#include <utility>

#include "common/log/log.hpp"
#include "controller/adapters/messages.hpp"

namespace swage::controller {

bool DispatchDesk::assign(const std::string& worker, const AssignmentOrder& order) {
  const auto found = boxes_.find(worker);
  if (found == boxes_.end()) return false;
  v1::DispatcherMessage message;
  *message.mutable_assignment() = to_wire(order);
  found->second->push(std::move(message));
  return true;
}

void DispatchDesk::cancel(const std::string& worker, const Attempt& attempt, std::uint64_t epoch,
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

void DispatchDesk::set_policies(std::vector<PolicyServer> servers) {
  policies_ = std::move(servers);
  for (const auto& [worker, box] : boxes_) box->push(policy_message());
}

v1::DispatcherMessage DispatchDesk::policy_message() const {
  v1::DispatcherMessage message;
  *message.mutable_policy_set() = to_wire(policies_);
  return message;
}

void DispatchDesk::close() {
  for (const auto& [worker, box] : boxes_) box->close();
}

Task<grpc::Status> DispatchDesk::serve(v1::WorkerHello hello, Stream stream) {
  const std::string& worker = hello.worker();
  const auto box = std::make_shared<Box>(strand_);
  if (const auto old = boxes_.find(worker); old != boxes_.end()) old->second->close();
  boxes_[worker] = box;
  listener_.worker_joined(worker, hello.capacity());
  box->push(policy_message());

  const auto ended = std::make_shared<StopSource>();
  Gate writing(strand_, *ended);
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

Task<> DispatchDesk::receive(std::string worker, Stream stream) {
  while (const auto message = co_await stream.read()) {
    if (message->has_report()) {
      const auto& report = message->report();
      listener_.worker_reported(worker,
                                {{report.rollout().rollout_id(), report.rollout().attempt()},
                                 report.sandbox_uid(),
                                 report.turns(),
                                 report.tokens()});
    } else if (message->has_done()) {
      listener_.worker_ended(worker, account_from(message->done()));
    } else {
      log_warning("a worker sent a message that does not belong here", {{"worker", worker}});
    }
  }
}

void DispatchService::close(DispatchDesk& desk) {
  desks_.erase(desk.run_uid());
  desk.close();
}

grpc::ServerBidiReactor<v1::WorkerMessage, v1::DispatcherMessage>* DispatchService::Work(
    grpc::CallbackServerContext* context) {
  return serve_bidi<v1::WorkerMessage, v1::DispatcherMessage>(
      home_, context,
      [this](DispatchDesk::Stream stream, StopSource&) { return serve(std::move(stream)); });
}

Task<grpc::Status> DispatchService::serve(DispatchDesk::Stream stream) {
  const auto first = co_await stream.read();
  if (!first || !first->has_hello())
    co_return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "the first message must be hello");
  const auto desk = desks_.find(first->hello().run_uid());
  if (desk == desks_.end())
    co_return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "a worker of another run");
  co_return co_await desk->second->serve(first->hello(), std::move(stream));
}

}  // namespace swage::controller
