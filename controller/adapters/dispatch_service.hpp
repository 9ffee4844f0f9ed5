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
  virtual void worker_reported(const std::string& worker, const RolloutNews& news) = 0;
  virtual void worker_ended(const std::string& worker, const RolloutAccount& account) = 0;
  virtual void worker_left(const std::string& worker) = 0;
};

/// The workers of one run: one stream for each. A worker that opens a second one replaces its
/// first. Thread: the service's strand. Life: outlives the service's streams.
class DispatchDesk {
 public:
  using Stream = BidiStream<v1::WorkerMessage, v1::DispatcherMessage>;

  DispatchDesk(asio::any_io_executor strand, std::string run_uid, WorkerListener& listener)
      : strand_(std::move(strand)), run_uid_(std::move(run_uid)), listener_(listener) {}

  /// False: that worker has no stream.
  bool assign(const std::string& worker, const AssignmentOrder& order);
  void cancel(const std::string& worker, const Attempt& attempt, std::uint64_t epoch,
              const std::string& reason);
  /// To every worker, now and when one joins.
  void set_policies(std::vector<PolicyServer> servers);
  /// Ends every stream, as when the run is over here.
  void close();
  const std::string& run_uid() const { return run_uid_; }

  /// Serves one worker until its stream ends.
  Task<grpc::Status> serve(v1::WorkerHello hello, Stream stream);

 private:
  using Box = Outbox<v1::WorkerMessage, v1::DispatcherMessage>;
  Task<> receive(std::string worker, Stream stream);
  v1::DispatcherMessage policy_message() const;

  asio::any_io_executor strand_;
  std::string run_uid_;
  WorkerListener& listener_;
  std::map<std::string, std::shared_ptr<Box>> boxes_;
  std::vector<PolicyServer> policies_;
};

/// Serves Dispatch.Work for the runs whose desks are open. Thread: `home.strand`.
class DispatchService final : public v1::Dispatch::CallbackService {
 public:
  explicit DispatchService(ServiceHome home) : home_(std::move(home)) {}
  void open(DispatchDesk& desk) { desks_[desk.run_uid()] = &desk; }
  void close(DispatchDesk& desk);

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::DispatcherMessage>* Work(
      grpc::CallbackServerContext* context) override;

 private:
  Task<grpc::Status> serve(DispatchDesk::Stream stream);
  ServiceHome home_;
  std::map<std::string, DispatchDesk*> desks_;
};

}  // namespace swage::controller
