#include "controller/adapters/control_service.hpp"

#include <utility>

#include "controller/adapters/messages.hpp"

namespace swage::controller {

void ControlDesk::push(v1::ControllerCommand command) {
  if (box_) box_->push(std::move(command));
}

void ControlDesk::set_policies(std::vector<PolicyServer> servers) {
  policies_ = std::move(servers);
  v1::ControllerCommand command;
  *command.mutable_policy_set() = to_wire(policies_);
  push(std::move(command));
}

void ControlDesk::resume(const std::string& pause_id) {
  v1::ControllerCommand command;
  command.mutable_resume()->set_pause_id(pause_id);
  push(std::move(command));
}

void ControlDesk::stop(const std::string& reason) {
  v1::ControllerCommand command;
  command.mutable_stop()->set_reason(reason);
  push(std::move(command));
}

void ControlDesk::close() {
  if (box_) box_->close();
}

Task<grpc::Status> ControlDesk::serve(v1::LearnerMessage first, Stream stream) {
  const auto box = std::make_shared<Box>(strand_);
  if (box_) box_->close();
  box_ = box;
  accepted_.clear();
  told_ = false;
  set_policies(policies_);

  const auto ended = std::make_shared<StopSource>();
  Gate writing(strand_, *ended);
  std::ignore = writing.spawn("commands to the learner", Box::run(box, stream, ended));
  const auto status = co_await receive(std::move(first), stream, box);
  ended->request(StopReason::requested);
  co_await writing.join();
  if (box_ == box) {
    box_ = nullptr;
    listener_.learner_gone();
  }
  co_return status;
}

Task<grpc::Status> ControlDesk::receive(v1::LearnerMessage first, Stream stream,
                                        std::shared_ptr<Box> box) {
  if (const auto refused = take(first)) co_return *refused;
  while (const auto message = co_await stream.read()) {
    if (box != box_) co_return grpc::Status(grpc::StatusCode::ABORTED, "a newer stream is open");
    if (const auto refused = take(*message)) co_return *refused;
  }
  co_return grpc::Status::OK;
}

std::optional<grpc::Status> ControlDesk::take(const v1::LearnerMessage& message) {
  if (message.has_accepted()) {
    const auto& part = message.accepted();
    accepted_.insert(accepted_.end(), part.rollout_ids().begin(), part.rollout_ids().end());
    if (part.last()) {
      told_ = true;
      listener_.learner_accepted(std::exchange(accepted_, {}));
    }
  } else if (message.has_status()) {
    if (message.status().run_uid() != run_uid_)
      return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "a learner of another run");
    if (!told_)
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                          "the accepted ids must come before a status");
    listener_.learner_status(status_from(message.status()));
  }
  return std::nullopt;
}

void ControlService::close(ControlDesk& desk) {
  desks_.erase(desk.run_uid());
  desk.close();
}

grpc::ServerBidiReactor<v1::LearnerMessage, v1::ControllerCommand>* ControlService::Attach(
    grpc::CallbackServerContext* context) {
  return serve_bidi<v1::LearnerMessage, v1::ControllerCommand>(
      home_, context,
      [this](ControlDesk::Stream stream, StopSource&) { return serve(std::move(stream)); });
}

Task<grpc::Status> ControlService::serve(ControlDesk::Stream stream) {
  auto first = co_await stream.read();
  if (!first) co_return grpc::Status::OK;
  const auto& uid = first->has_accepted() ? first->accepted().run_uid() : first->status().run_uid();
  const auto desk = desks_.find(uid);
  if (desk == desks_.end())
    co_return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "a learner of another run");
  co_return co_await desk->second->serve(std::move(*first), std::move(stream));
}

}  // namespace swage::controller
