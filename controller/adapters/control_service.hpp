#pragma once

#include <map>
#include <memory>
#include <optional>
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

/// The learner of one run; its newest stream counts. Thread: the service's strand. Life: outlives
/// the service's streams.
class ControlDesk {
 public:
  using Stream = BidiStream<v1::LearnerMessage, v1::ControllerCommand>;

  ControlDesk(asio::any_io_executor strand, std::string run_uid, LearnerListener& listener)
      : strand_(std::move(strand)), run_uid_(std::move(run_uid)), listener_(listener) {}

  bool attached() const { return box_ != nullptr; }
  void set_policies(std::vector<PolicyServer> servers);
  void resume(const std::string& pause_id);
  void stop(const std::string& reason);

  /// Ends its stream.
  void close();
  const std::string& run_uid() const { return run_uid_; }

  /// Serves the learner until its stream ends. first: the message that said whose learner it is.
  Task<grpc::Status> serve(v1::LearnerMessage first, Stream stream);

 private:
  using Box = Outbox<v1::LearnerMessage, v1::ControllerCommand>;
  Task<grpc::Status> receive(v1::LearnerMessage first, Stream stream, std::shared_ptr<Box> box);
  /// Nothing: go on.
  std::optional<grpc::Status> take(const v1::LearnerMessage& message);
  void push(v1::ControllerCommand command);

  asio::any_io_executor strand_;
  std::string run_uid_;
  LearnerListener& listener_;
  std::shared_ptr<Box> box_;
  std::vector<std::string> accepted_;  ///< parts that came so far
  bool told_ = false;                  ///< the newest stream has said what its learner holds
  std::vector<PolicyServer> policies_;
};

/// Serves Control.Attach for the runs whose desks are open. Thread: `home.strand`.
class ControlService final : public v1::Control::CallbackService {
 public:
  explicit ControlService(ServiceHome home) : home_(std::move(home)) {}
  void open(ControlDesk& desk) { desks_[desk.run_uid()] = &desk; }
  void close(ControlDesk& desk);

  grpc::ServerBidiReactor<v1::LearnerMessage, v1::ControllerCommand>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  Task<grpc::Status> serve(ControlDesk::Stream stream);
  ServiceHome home_;
  std::map<std::string, ControlDesk*> desks_;
};

}  // namespace swage::controller
