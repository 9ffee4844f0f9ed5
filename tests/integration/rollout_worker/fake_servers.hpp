#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/asio/event.hpp"
#include "common/rpc/server.hpp"
#include "swage/v1/dispatch.grpc.pb.h"
#include "swage/v1/evaluate.grpc.pb.h"
#include "swage/v1/policy.grpc.pb.h"
#include "swage/v1/sandbox.grpc.pb.h"
#include "swage/v1/trajectory.grpc.pb.h"
#include "tests/unit/rollout_worker/byte_renderer.hpp"

namespace swage::rollout_worker::test {

/// A gRPC server that can be killed (all calls break at once, what it knew is kept by its owner)
/// and started again at the same address. Thread: the test's.
class FakeServer {
 public:
  FakeServer(asio::any_io_executor strand, std::string address)
      : strand_(std::move(strand)), address_(std::move(address)) {}
  virtual ~FakeServer() = default;
  void start();
  Task<> kill();
  const std::string& address() const { return address_; }
  bool running() const { return server_ != nullptr; }

 protected:
  virtual grpc::Service* make_service(ServiceHome home) = 0;
  asio::any_io_executor strand_;
  StopSource* stop() { return stop_.get(); }

 private:
  std::string address_;
  std::unique_ptr<StopSource> stop_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<RpcServer> server_;
};

/// Says the next line of a script each turn, byte by byte as tokens, and holds sessions as a real
/// server does.
class FakePolicy final : public FakeServer {
 public:
  using FakeServer::FakeServer;
  std::vector<std::string> script;
  std::uint64_t weight_version = 1;
  bool stuck = false;  ///< streams one token and then nothing
  std::size_t generated = 0, misses = 0, most_at_once = 0;
  void forget() { sessions_.clear(); }
  Task<grpc::Status> generate(WriteStream<v1::GenerateResponse> stream, v1::GenerateRequest request,
                              StopSource& gone);

 private:
  grpc::Service* make_service(ServiceHome home) override;
  ByteRenderer renderer_;
  std::map<std::string, std::vector<std::uint32_t>> sessions_;
  std::size_t at_once_ = 0;
};

/// Answers for all sandboxes: pod uid `pod-<rollout id>`. `profile` commands ask for a score.
class FakeSandboxes final : public FakeServer {
 public:
  using FakeServer::FakeServer;
  std::set<std::string> die_at_tool;  ///< rollout ids whose sandbox dies in its first tool call
  std::size_t sessions = 0, most_sessions = 0, tools = 0;
  Task<grpc::Status> session(BidiStream<v1::SessionDown, v1::SessionUp> stream,
                             std::string rollout);

 private:
  grpc::Service* make_service(ServiceHome home) override;
};

/// A GPU worker that finds every bundle right and worth `reward`.
class FakeEvaluator final : public FakeServer {
 public:
  using FakeServer::FakeServer;
  double reward = 3;
  int break_off = 0;                           ///< so many evaluations end without a word
  int refuse = 0;                              ///< so many are refused as stale
  std::size_t evaluations = 0, libraries = 0;  ///< libraries: bundles that hold one
  std::vector<std::string> requests;
  Task<grpc::Status> evaluate(BidiStream<v1::EvaluateRequest, v1::EvaluateResponse> stream);

 private:
  grpc::Service* make_service(ServiceHome home) override;
};

/// The learner's log: keeps one trajectory per rollout id, over kills.
class FakeLearner final : public FakeServer {
 public:
  using FakeServer::FakeServer;
  std::map<std::string, v1::Trajectory> log;
  std::vector<v1::Trajectory> diagnosis;
  int retry = 0;    ///< so many answers are RETRY
  int swallow = 0;  ///< so many are logged, and the stream breaks before the answer
  std::size_t duplicates = 0;
  Task<grpc::Status> submit(BidiStream<v1::Trajectory, v1::SubmitAnswer> stream);

 private:
  grpc::Service* make_service(ServiceHome home) override;
};

/// The controller's leader.
class FakeDispatcher final : public FakeServer {
 public:
  FakeDispatcher(asio::any_io_executor strand, std::string address)
      : FakeServer(strand, std::move(address)), pending_(strand) {}
  v1::PolicySet policies;
  std::vector<v1::WorkerHello> hellos;
  std::vector<v1::RolloutReport> reports;
  std::vector<v1::RolloutDone> dones;
  void send(v1::DispatcherMessage message);
  const v1::RolloutDone* done(const std::string& rollout, std::uint32_t attempt = 1) const;
  std::size_t connections = 0;
  Task<grpc::Status> work(BidiStream<v1::WorkerMessage, v1::DispatcherMessage> stream,
                          StopSource& gone);

 private:
  Task<> push(BidiStream<v1::WorkerMessage, v1::DispatcherMessage> stream, StopSource& gone);
  grpc::Service* make_service(ServiceHome home) override;
  Event pending_;
  std::vector<v1::DispatcherMessage> outbox_;
};

}  // namespace swage::rollout_worker::test
