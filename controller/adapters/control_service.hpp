#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/rpc/server.hpp"
#include "controller/adapters/outbox.hpp"
#include "controller/api/assignment.hpp"
#include "controller/api/learner_view.hpp"
#include "swage/v1/control.grpc.pb.h"

namespace swage::controller {

/// What the learner says. Called on the service's strand.
class LearnerListener {
 public:
  virtual ~LearnerListener() = default;
  /// All ids in the learner's log, once after each attaching.
  virtual void learner_accepted(const std::vector<std::string>& ids) = 0;
  virtual void learner_status(const LearnerStatus& status) = 0;
  virtual void learner_gone() = 0;
};

/// Serves Control.Attach for the run's learner; the newest stream counts. Thread: `home.strand`;
/// the public functions too.
class ControlService final : public v1::Control::CallbackService {
 public:
  ControlService(ServiceHome home, std::string run_uid, LearnerListener& listener);

  bool attached() const { return box_ != nullptr; }
  void set_policies(std::vector<PolicyServer> servers);
  void resume(const std::string& pause_id);
  void stop(const std::string& reason);

  grpc::ServerBidiReactor<v1::LearnerMessage, v1::ControllerCommand>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  using Stream = BidiStream<v1::LearnerMessage, v1::ControllerCommand>;
  using Box = Outbox<v1::LearnerMessage, v1::ControllerCommand>;
  Task<grpc::Status> serve(Stream stream, StopSource& gone);
  Task<grpc::Status> receive(Stream stream, std::shared_ptr<Box> box);
  void push(v1::ControllerCommand command);

  ServiceHome home_;
  std::string run_uid_;
  LearnerListener& listener_;
  std::shared_ptr<Box> box_;
  std::vector<PolicyServer> policies_;
};

}  // namespace swage::controller
