#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/rpc/server.hpp"
#include "controller/adapters/outbox.hpp"
#include "controller/api/assignment.hpp"
#include "controller/api/rollout.hpp"
#include "swage/v1/dispatch.grpc.pb.h"

namespace swage::controller {

/// What rollout workers say. Called on the service's strand.
class WorkerListener {
 public:
  virtual ~WorkerListener() = default;
  virtual void worker_joined(const std::string& worker, std::uint32_t capacity) = 0;
  virtual void worker_reported(const std::string& worker, const Attempt& attempt,
                               std::uint32_t turns, std::uint32_t tokens) = 0;
  virtual void worker_ended(const std::string& worker, const RolloutAccount& account) = 0;
  virtual void worker_left(const std::string& worker) = 0;
};

/// Serves Dispatch.Work: one stream per rollout worker. A worker that opens a second one replaces
/// its first. Thread: `home.strand`; the public functions too.
class DispatchService final : public v1::Dispatch::CallbackService {
 public:
  DispatchService(ServiceHome home, std::string run_uid, WorkerListener& listener);

  /// False: that worker has no stream.
  bool assign(const std::string& worker, const AssignmentOrder& order);
  void cancel(const std::string& worker, const Attempt& attempt, std::uint64_t epoch,
              const std::string& reason);
  /// To every worker, now and when one joins.
  void set_policies(std::vector<PolicyServer> servers);

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::DispatcherMessage>* Work(
      grpc::CallbackServerContext* context) override;

 private:
  using Stream = BidiStream<v1::WorkerMessage, v1::DispatcherMessage>;
  using Box = Outbox<v1::WorkerMessage, v1::DispatcherMessage>;
  Task<grpc::Status> serve(Stream stream, StopSource& gone);
  Task<> receive(std::string worker, Stream stream);
  v1::DispatcherMessage policy_message() const;

  ServiceHome home_;
  std::string run_uid_;
  WorkerListener& listener_;
  std::map<std::string, std::shared_ptr<Box>> boxes_;
  std::vector<PolicyServer> policies_;
};

}  // namespace swage::controller
