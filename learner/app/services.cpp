#include "learner/app/services.hpp"

#include <algorithm>

#include "learner/adapters/trajectory_message.hpp"

namespace swage::learner {
namespace {

v1::TrajectoryLine line_of(const LedgerEntry& entry) {
  v1::TrajectoryLine line;
  line.set_seq(entry.seq);
  line.set_rollout_id(entry.rollout_id);
  line.set_attempt(entry.attempt);
  line.set_stage(to_wire(entry.slot.stage));
  line.set_task_id(entry.task_id);
  line.set_stop_reason(to_wire(entry.stop_reason));
  line.set_turns(entry.turns);
  line.set_tokens(entry.tokens);
  if (entry.reward) line.set_reward(*entry.reward);
  line.set_infrastructure(entry.infrastructure);
  return line;
}

}  // namespace

grpc::ServerBidiReactor<v1::Trajectory, v1::SubmitAnswer>* TrajectoryService::Submit(
    grpc::CallbackServerContext* context) {
  return serve_bidi<v1::Trajectory, v1::SubmitAnswer>(
      home_, context,
      [this](BidiStream<v1::Trajectory, v1::SubmitAnswer> stream, StopSource& gone) {
        return submit(std::move(stream), gone);
      });
}

Task<grpc::Status> TrajectoryService::submit(BidiStream<v1::Trajectory, v1::SubmitAnswer> stream,
                                             StopSource& /*gone*/) {
  while (auto message = co_await stream.read()) {
    auto answer = co_await store_.submit(std::move(*message));
    if (!co_await stream.write(std::move(answer))) break;
  }
  co_return grpc::Status::OK;
}

grpc::ServerUnaryReactor* TrajectoryService::Get(grpc::CallbackServerContext* context,
                                                 const v1::GetTrajectoryRequest* request,
                                                 v1::Trajectory* reply) {
  return serve_unary<v1::Trajectory>(home_, context, reply,
                                     [this, request] { return get(request->rollout_id()); });
}

Task<ReplyOr<v1::Trajectory>> TrajectoryService::get(std::string rollout_id) {
  const auto bytes = co_await store_.bytes_of(rollout_id);
  v1::Trajectory trajectory;
  if (!bytes || !trajectory.ParseFromString(*bytes))
    co_return tl::unexpected(
        RpcError{grpc::StatusCode::NOT_FOUND, "no trajectory of " + rollout_id + " in the log"});
  co_return trajectory;
}

grpc::ServerUnaryReactor* TrajectoryService::List(grpc::CallbackServerContext* context,
                                                  const v1::ListTrajectoriesRequest* request,
                                                  v1::ListTrajectoriesResponse* reply) {
  return serve_unary<v1::ListTrajectoriesResponse>(home_, context, reply, [this, request] {
    return list(request->after_seq(), request->limit());
  });
}

Task<ReplyOr<v1::ListTrajectoriesResponse>> TrajectoryService::list(std::uint64_t after,
                                                                    std::uint32_t limit) {
  if (limit < 1 || limit > 1000)
    co_return tl::unexpected(
        RpcError{grpc::StatusCode::INVALID_ARGUMENT, "limit must be in [1, 1000]"});
  const auto& entries = store_.ledger().entries();
  auto at =
      std::upper_bound(entries.begin(), entries.end(), after,
                       [](std::uint64_t seq, const LedgerEntry& entry) { return seq < entry.seq; });
  v1::ListTrajectoriesResponse reply;
  for (; at != entries.end() && reply.lines_size() < static_cast<int>(limit); ++at)
    *reply.add_lines() = line_of(*at);
  if (at != entries.end()) reply.set_next_seq(reply.lines(reply.lines_size() - 1).seq());
  co_return reply;
}

grpc::ServerWriteReactor<v1::PutRequest>* WeightsService::Fetch(
    grpc::CallbackServerContext* context, const v1::FetchRequest* request) {
  return serve_write<v1::PutRequest>(
      home_, context,
      [this, request = *request](WriteStream<v1::PutRequest> stream, StopSource& gone) {
        return fetch(std::move(stream), request, gone);
      });
}

Task<grpc::Status> WeightsService::fetch(WriteStream<v1::PutRequest> stream,
                                         v1::FetchRequest request, StopSource& gone) {
  const auto publication = publisher_.newest();
  if (!publication || publication->version() <= request.newer_than())
    co_return grpc::Status(grpc::StatusCode::NOT_FOUND, "no newer weight version");
  if (publication->manifest.config_digest() != request.config_digest())
    co_return grpc::Status(
        grpc::StatusCode::FAILED_PRECONDITION,
        "this run's model has config digest " + publication->manifest.config_digest());
  if (!co_await stream.write(publication->head())) co_return grpc::Status::CANCELLED;
  const auto chunks = static_cast<std::uint32_t>(publication->manifest.chunk_crc32c_size());
  for (std::uint32_t index = 0; index < chunks; ++index)
    if (gone.stopping() || !co_await stream.write(publication->chunk(index)))
      co_return grpc::Status::CANCELLED;
  co_return grpc::Status::OK;
}

}  // namespace swage::learner
