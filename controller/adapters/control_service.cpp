#include "controller/adapters/control_service.hpp"

#include <utility>

#include "controller/adapters/messages.hpp"

namespace swage::controller {

ControlService::ControlService(ServiceHome home, std::string run_uid, LearnerListener& listener)
    : home_(std::move(home)), run_uid_(std::move(run_uid)), listener_(listener) {}

void ControlService::push(v1::ControllerCommand command) {
  if (box_) box_->push(std::move(command));
}

void ControlService::set_policies(std::vector<PolicyServer> servers) {
  policies_ = std::move(servers);
  v1::ControllerCommand command;
  *command.mutable_policy_set() = to_wire(policies_);
  push(std::move(command));
}

void ControlService::resume(const std::string& pause_id) {
  v1::ControllerCommand command;
  command.mutable_resume()->set_pause_id(pause_id);
  push(std::move(command));
}

void ControlService::stop(const std::string& reason) {
  v1::ControllerCommand command;
  command.mutable_stop()->set_reason(reason);
  push(std::move(command));
}

grpc::ServerBidiReactor<v1::LearnerMessage, v1::ControllerCommand>* ControlService::Attach(
    grpc::CallbackServerContext* context) {
  return serve_bidi<v1::LearnerMessage, v1::ControllerCommand>(
      home_, context,
      [this](Stream stream, StopSource& gone) { return serve(std::move(stream), gone); });
}

Task<grpc::Status> ControlService::serve(Stream stream, StopSource&) {
  const auto box = std::make_shared<Box>(home_.strand);
  if (box_) box_->close();
  box_ = box;
  set_policies(policies_);

  const auto ended = std::make_shared<StopSource>();
  Gate writing(home_.strand, *ended);
  std::ignore = writing.spawn("commands to the learner", Box::run(box, stream, ended));
  const auto status = co_await receive(stream, box);
  ended->request(StopReason::requested);
  co_await writing.join();
  if (box_ == box) {
    box_ = nullptr;
    listener_.learner_gone();
  }
  co_return status;
}

Task<grpc::Status> ControlService::receive(Stream stream, std::shared_ptr<Box> box) {
  std::vector<std::string> accepted;
  bool told = false;
  while (const auto message = co_await stream.read()) {
    if (box != box_) co_return grpc::Status(grpc::StatusCode::ABORTED, "a newer stream is open");
    if (message->has_accepted()) {
      const auto& part = message->accepted();
      accepted.insert(accepted.end(), part.rollout_ids().begin(), part.rollout_ids().end());
      if (part.last()) {
        told = true;
        listener_.learner_accepted(std::exchange(accepted, {}));
      }
    } else if (message->has_status()) {
      if (message->status().run_uid() != run_uid_)
        co_return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "a learner of another run");
      if (!told)
        co_return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                               "the accepted ids must come before a status");
      listener_.learner_status(status_from(message->status()));
    }
  }
  co_return grpc::Status::OK;
}

}  // namespace swage::controller
