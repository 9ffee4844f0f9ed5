#include "controller/adapters/trajectory_client.hpp"

#include <utility>

#include "common/rpc/channel.hpp"
#include "common/rpc/client.hpp"
#include "swage/v1/trajectory.grpc.pb.h"

namespace swage::controller {
namespace {

TrajectoryError error_from(const RpcError& error) {
  const bool absent = error.code == grpc::StatusCode::NOT_FOUND;
  return {absent ? TrajectoryErrc::not_found : TrajectoryErrc::unreachable, error.message};
}

class Client final : public TrajectoryClient {
 public:
  Client(const std::string& address, std::string token, DecodeIds decode)
      : stub_(v1::Trajectories::NewStub(make_channel(address))),
        token_(std::move(token)),
        decode_(std::move(decode)) {}

  Task<Result<nlohmann::json, TrajectoryError>> get(std::string rollout_id, TimePoint deadline,
                                                    StopSource& stop) override {
    v1::GetTrajectoryRequest request;
    request.set_rollout_id(rollout_id);
    const auto reply = co_await unary_call(*stub_->async(), &v1::Trajectories::Stub::async::Get,
                                           std::move(request), CallOptions{deadline, token_}, stop);
    if (!reply) co_return tl::unexpected(error_from(reply.error()));
    co_return trajectory_json(*reply, decode_);
  }

  Task<Result<nlohmann::json, TrajectoryError>> list(std::uint64_t cursor, std::uint32_t limit,
                                                     TimePoint deadline,
                                                     StopSource& stop) override {
    v1::ListTrajectoriesRequest request;
    request.set_after_seq(cursor);
    request.set_limit(limit);
    const auto reply = co_await unary_call(*stub_->async(), &v1::Trajectories::Stub::async::List,
                                           std::move(request), CallOptions{deadline, token_}, stop);
    if (!reply) co_return tl::unexpected(error_from(reply.error()));
    auto items = nlohmann::json::array();
    for (const auto& line : reply->lines()) items.push_back(trajectory_line_json(line));
    co_return nlohmann::json{
        {"items", std::move(items)},
        {"next_cursor", reply->next_seq() == 0
                            ? nlohmann::json(nullptr)
                            : nlohmann::json(std::to_string(reply->next_seq()))}};
  }

 private:
  std::unique_ptr<v1::Trajectories::Stub> stub_;
  std::string token_;
  DecodeIds decode_;
};

}  // namespace

std::unique_ptr<TrajectoryClient> make_trajectory_client(const std::string& address,
                                                         std::string token, DecodeIds decode) {
  return std::make_unique<Client>(address, std::move(token), std::move(decode));
}

}  // namespace swage::controller
