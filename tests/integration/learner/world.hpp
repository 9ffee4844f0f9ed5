#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/asio/event.hpp"
#include "common/asio/gate.hpp"
#include "common/asio/process.hpp"
#include "common/rpc/client.hpp"
#include "common/rpc/server.hpp"
#include "swage/v1/control.grpc.pb.h"
#include "swage/v1/trajectory.grpc.pb.h"
#include "swage/v1/weights.grpc.pb.h"
#include "tests/support/task_runner.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::test {

/// The controller's end of Control.Attach: remembers what the learner says, sends what it is told.
class ControlServer final : public v1::Control::CallbackService {
 public:
  ControlServer(ServiceHome home, asio::any_io_executor strand)
      : to_send(strand), home_(std::move(home)) {}
  grpc::ServerBidiReactor<v1::LearnerMessage, v1::ControllerCommand>* Attach(
      grpc::CallbackServerContext* context) override;

  v1::LearnerStatus status;            ///< the newest
  std::vector<v1::LearnerStatus> all;  ///< every status that came
  std::vector<std::string> accepted;   ///< ids of the newest attachment
  int attachments = 0;
  bool complete = false;     ///< the ids' last part has come
  v1::PolicySet policy_set;  ///< sent after each attachment
  Mailbox<v1::ControllerCommand> to_send;

 private:
  Task<grpc::Status> serve(BidiStream<v1::LearnerMessage, v1::ControllerCommand> stream,
                           StopSource& gone);
  ServiceHome home_;
};

/// The weights' end of a policy server: assembles what is put, and checks it.
class WeightsServer final : public v1::Weights::CallbackService {
 public:
  explicit WeightsServer(ServiceHome home) : home_(std::move(home)) {}
  grpc::ServerUnaryReactor* Offer(grpc::CallbackServerContext* context,
                                  const v1::OfferRequest* request,
                                  v1::OfferResponse* reply) override;
  grpc::ServerBidiReactor<v1::PutRequest, v1::PutResponse>* Put(
      grpc::CallbackServerContext* context) override;

  std::uint64_t version = 0;
  std::vector<std::uint64_t> versions;           ///< in the order they arrived
  std::map<std::uint64_t, std::string> digests;  ///< SHA-256 of each
  v1::WeightManifest manifest;

 private:
  Task<ReplyOr<v1::OfferResponse>> offer(v1::WeightManifest manifest);
  Task<grpc::Status> put(BidiStream<v1::PutRequest, v1::PutResponse> stream);
  ServiceHome home_;
};

/// A real swage-learner between a scripted controller, policy server and rollout worker.
class World {
 public:
  World();
  ~World();

  /// Starts the process with this configuration (merged into the defaults) and waits until it
  /// serves. False: it ended instead; exit_code() says how.
  bool start(const nlohmann::json& changes = nlohmann::json::object());
  void kill();      ///< SIGKILL, and waits for its end
  int terminate();  ///< SIGTERM; returns the exit code
  std::optional<int> exit_code();
  std::string log() const;

  /// Sends one trajectory on the open stream, which is opened if needed.
  v1::SubmitAnswer submit(v1::Trajectory trajectory);
  v1::Trajectory get(const std::string& id);
  std::vector<v1::TrajectoryLine> list();

  /// Turns until `condition` holds; fails the test after `limit`.
  bool until(const std::function<bool()>& condition, int seconds = 60);
  /// Puts another tokenizer.json into the place of the world's.
  void change_tokenizer(std::uint32_t vocabulary, const std::vector<std::string>& texts);
  bool reaches(v1::Stage stage, std::uint32_t round = 0, int seconds = 90);

  /// A sound trajectory with this reward (−1, 1, 2, 3).
  v1::Trajectory trajectory(const std::string& id, v1::Stage stage, std::uint64_t group,
                            std::uint32_t member, int reward);
  v1::SignedVerdict verdict(const std::string& id, int reward, const std::string& key = "");
  /// Everything that the learner waits for, until it is done or `last` is reached: the collected
  /// set, evaluation rounds, PPO batches. Rewards rise with the group number's parity.
  void feed_until(v1::Stage last, int seconds = 120);
  /// The next trajectory that the learner waits for, if it waits for one; else a short while.
  void feed_one();

  TaskRunner run;
  TempDirectory directory;
  std::unique_ptr<ControlServer> control;
  std::unique_ptr<WeightsServer> weights;
  std::string config_digest, tokenizer_digest;
  std::string key = "pool key";

 private:
  Task<v1::SubmitAnswer> submit_on_stream(v1::Trajectory trajectory);
  nlohmann::json default_config() const;

  StopSource stop_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<RpcServer> control_server_, weights_server_;
  std::unique_ptr<Process> process_;
  TaskRunner::Handle<int> ended_;  ///< the process's wait status
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Trajectories::Stub> stub_;
  std::optional<BidiCall<v1::Trajectory, v1::SubmitAnswer>> stream_;
};

}  // namespace swage::test
