#pragma once

#include "common/rpc/server.hpp"
#include "learner/app/publisher.hpp"
#include "learner/app/trajectory_store.hpp"
#include "swage/v1/trajectory.grpc.pb.h"
#include "swage/v1/weights.grpc.pb.h"

namespace swage::learner {

/// Serves Trajectories: Submit, Get, List. The home outlives the server that serves it.
class TrajectoryService final : public v1::Trajectories::CallbackService {
 public:
  TrajectoryService(ServiceHome home, TrajectoryStore& store)
      : home_(std::move(home)), store_(store) {}

  grpc::ServerBidiReactor<v1::Trajectory, v1::SubmitAnswer>* Submit(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const v1::GetTrajectoryRequest* request,
                                v1::Trajectory* reply) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const v1::ListTrajectoriesRequest* request,
                                 v1::ListTrajectoriesResponse* reply) override;

 private:
  Task<grpc::Status> submit(BidiStream<v1::Trajectory, v1::SubmitAnswer> stream, StopSource& gone);
  Task<ReplyOr<v1::Trajectory>> get(std::string rollout_id);
  Task<ReplyOr<v1::ListTrajectoriesResponse>> list(std::uint64_t after, std::uint32_t limit);

  ServiceHome home_;
  TrajectoryStore& store_;
};

/// Serves Weights.Fetch for policy servers that start late; Offer and Put are not the learner's.
class WeightsService final : public v1::Weights::CallbackService {
 public:
  WeightsService(ServiceHome home, Publisher& publisher)
      : home_(std::move(home)), publisher_(publisher) {}

  grpc::ServerWriteReactor<v1::PutRequest>* Fetch(grpc::CallbackServerContext* context,
                                                  const v1::FetchRequest* request) override;

 private:
  Task<grpc::Status> fetch(WriteStream<v1::PutRequest> stream, v1::FetchRequest request,
                           StopSource& gone);

  ServiceHome home_;
  Publisher& publisher_;
};

}  // namespace swage::learner
