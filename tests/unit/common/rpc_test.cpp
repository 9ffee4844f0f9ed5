#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/digest.hpp"
#include "common/rpc/channel.hpp"
#include "common/rpc/client.hpp"
#include "common/rpc/server.hpp"
#include "swage/v1/policy.grpc.pb.h"
#include "swage/v1/trajectory.grpc.pb.h"
#include "tests/support/task_runner.hpp"

namespace swage {
namespace {

using test::TaskRunner;

using namespace std::chrono_literals;
using v1::GenerateResponse;
using v1::SubmitAnswer;
using v1::Trajectory;

Task<ReplyOr<v1::PolicyInfo>> info() {
  v1::PolicyInfo reply;
  reply.set_vocabulary(7);
  reply.set_config_digest("\xff");
  co_return reply;
}

Task<ReplyOr<v1::CloseSessionResponse>> refuse() {
  co_return tl::unexpected(RpcError{grpc::StatusCode::NOT_FOUND, "no such session"});
}

/// Streams `max_tokens` chunks, or for ever when it is 0, and notes that the client has gone.
Task<grpc::Status> generate(WriteStream<GenerateResponse> stream, std::uint32_t chunks,
                            StopSource& gone, int& went) {
  for (std::uint32_t i = 0; chunks == 0 || i < chunks; ++i) {
    GenerateResponse response;
    response.mutable_tokens()->add_ids(i);
    if (!co_await stream.write(std::move(response)) || gone.stopping()) {
      ++went;
      co_return grpc::Status::CANCELLED;
    }
  }
  co_return grpc::Status::OK;
}

Task<grpc::Status> submit(BidiStream<Trajectory, SubmitAnswer> stream) {
  while (auto trajectory = co_await stream.read()) {
    if (trajectory->rollout_id() == "bad")
      co_return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "bad trajectory");
    SubmitAnswer answer;
    answer.set_rollout_id(trajectory->rollout_id());
    if (!co_await stream.write(std::move(answer))) break;
  }
  co_return grpc::Status::OK;
}

class PolicyService final : public v1::Policy::CallbackService {
 public:
  PolicyService(ServiceHome home, int& went) : home_(std::move(home)), went_(went) {}
  grpc::ServerUnaryReactor* Info(grpc::CallbackServerContext* context, const v1::PolicyInfoRequest*,
                                 v1::PolicyInfo* reply) override {
    return serve_unary(home_, context, reply, [] { return info(); });
  }
  grpc::ServerUnaryReactor* Close(grpc::CallbackServerContext* context,
                                  const v1::CloseSessionRequest*,
                                  v1::CloseSessionResponse* reply) override {
    return serve_unary(home_, context, reply, [] { return refuse(); });
  }
  grpc::ServerWriteReactor<GenerateResponse>* Generate(
      grpc::CallbackServerContext* context, const v1::GenerateRequest* request) override {
    return serve_write<GenerateResponse>(
        home_, context, [this, chunks = request->max_tokens()](auto stream, StopSource& gone) {
          return generate(std::move(stream), chunks, gone, went_);
        });
  }

 private:
  ServiceHome home_;
  int& went_;
};

class TrajectoryService final : public v1::Trajectories::CallbackService {
 public:
  explicit TrajectoryService(ServiceHome home) : home_(std::move(home)) {}
  grpc::ServerBidiReactor<Trajectory, SubmitAnswer>* Submit(
      grpc::CallbackServerContext* context) override {
    return serve_bidi<Trajectory, SubmitAnswer>(
        home_, context, [](auto stream, StopSource&) { return submit(std::move(stream)); });
  }

 private:
  ServiceHome home_;
};

class RpcTest : public testing::Test {
 protected:
  RpcTest()
      : gate_(run_.executor(), stop_),
        policy_({run_.executor(), gate_, "secret"}, went_),
        trajectories_({run_.executor(), gate_, "secret"}) {
    const auto address = "unix:" + testing::TempDir() + to_hex(random_bytes(6)) + ".sock";
    auto server = RpcServer::start(address, {&policy_, &trajectories_});
    EXPECT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    address_ = address;
    channel_ = make_channel(address);
    policy_stub_ = v1::Policy::NewStub(channel_);
    trajectory_stub_ = v1::Trajectories::NewStub(channel_);
  }
  ~RpcTest() override {
    run_(server_->shut_down(1s));
    run_(gate_.join());
  }
  static CallOptions options(std::string token = "secret") {
    return {std::chrono::steady_clock::now() + 10s, std::move(token)};
  }
  BidiCall<Trajectory, SubmitAnswer> open_submit() {
    return BidiCall<Trajectory, SubmitAnswer>::open(options(), [&](auto* context, auto* reactor) {
      trajectory_stub_->async()->Submit(context, reactor);
    });
  }

  TaskRunner run_;
  StopSource stop_;
  StopSource client_stop_;
  Gate gate_;
  int went_ = 0;
  PolicyService policy_;
  TrajectoryService trajectories_;
  std::unique_ptr<RpcServer> server_;
  std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Policy::Stub> policy_stub_;
  std::unique_ptr<v1::Trajectories::Stub> trajectory_stub_;
};

TEST_F(RpcTest, AUnaryCallReturnsItsReplyOrTheHandlersStatus) {
  const auto reply = run_(unary_call(*policy_stub_->async(), &v1::Policy::Stub::async::Info,
                                     v1::PolicyInfoRequest(), options(), client_stop_));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->vocabulary(), 7U);
  const auto refused = run_(unary_call(*policy_stub_->async(), &v1::Policy::Stub::async::Close,
                                       v1::CloseSessionRequest(), options(), client_stop_));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(refused.error().message, "no such session");
}

TEST_F(RpcTest, AWrongTokenIsRefusedOnUnaryCallsAndStreams) {
  const auto reply = run_(unary_call(*policy_stub_->async(), &v1::Policy::Stub::async::Info,
                                     v1::PolicyInfoRequest(), options("guess"), client_stop_));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, grpc::StatusCode::UNAUTHENTICATED);
  auto call = BidiCall<Trajectory, SubmitAnswer>::open(
      options(""),
      [&](auto* context, auto* reactor) { trajectory_stub_->async()->Submit(context, reactor); });
  EXPECT_FALSE(run_(call.read()).has_value());
  EXPECT_EQ(run_(call.finish()).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(RpcTest, AServerStreamDeliversEverythingThenItsStatus) {
  v1::GenerateRequest request;
  request.set_max_tokens(200);
  auto call = ReadCall<GenerateResponse>::open(options(), [&](auto* context, auto* reactor) {
    policy_stub_->async()->Generate(context, &request, reactor);
  });
  std::uint32_t next = 0;
  while (auto response = run_(call.read())) EXPECT_EQ(response->tokens().ids(0), next++);
  EXPECT_EQ(next, 200U);
  EXPECT_TRUE(run_(call.finish()).ok());
}

TEST_F(RpcTest, AClientThatGoesStopsTheHandler) {
  v1::GenerateRequest request;
  {
    auto call = ReadCall<GenerateResponse>::open(options(), [&](auto* context, auto* reactor) {
      policy_stub_->async()->Generate(context, &request, reactor);
    });
    EXPECT_TRUE(run_(call.read()).has_value());
  }
  EXPECT_TRUE(run_.wait_until([&] { return went_ == 1; }));
}

TEST_F(RpcTest, ABidirectionalStreamAnswersEachMessageAndEndsWhenTheClientHasWritten) {
  auto call = open_submit();
  for (int i = 0; i < 50; ++i) {
    Trajectory trajectory;
    trajectory.set_rollout_id("r" + std::to_string(i));
    EXPECT_TRUE(run_(call.write(std::move(trajectory))));
    const auto answer = run_(call.read());
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->rollout_id(), "r" + std::to_string(i));
  }
  EXPECT_TRUE(run_(call.writes_done()));
  EXPECT_FALSE(run_(call.read()).has_value());
  EXPECT_TRUE(run_(call.finish()).ok());
}

TEST_F(RpcTest, TextThatIsNotUtf8IsMendedOnItsWayAndNoCallEnds) {
  const std::string mended = "\xef\xbf\xbd";
  const auto reply = run_(unary_call(*policy_stub_->async(), &v1::Policy::Stub::async::Info,
                                     v1::PolicyInfoRequest(), options(), client_stop_));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->config_digest(), mended);
  auto call = open_submit();
  Trajectory trajectory;
  trajectory.set_rollout_id("r\xff");
  EXPECT_TRUE(run_(call.write(std::move(trajectory))));
  const auto answer = run_(call.read());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->rollout_id(), "r" + mended);
  EXPECT_TRUE(run_(call.writes_done()));
  EXPECT_TRUE(run_(call.finish()).ok());
}

TEST_F(RpcTest, AStreamThatTheServerEndsEarlyTellsItsStatus) {
  auto call = open_submit();
  Trajectory trajectory;
  trajectory.set_rollout_id("bad");
  EXPECT_TRUE(run_(call.write(std::move(trajectory))));
  EXPECT_FALSE(run_(call.read()).has_value());
  const auto status = run_(call.finish());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "bad trajectory");
}

TEST_F(RpcTest, ShutDownEndsStreamsThatAreStillOpen) {
  auto call = open_submit();
  Trajectory trajectory;
  trajectory.set_rollout_id("r");
  EXPECT_TRUE(run_(call.write(std::move(trajectory))));
  EXPECT_TRUE(run_(call.read()).has_value());
  run_(server_->shut_down(50ms));
  EXPECT_FALSE(run_(call.read()).has_value());
  EXPECT_FALSE(run_(call.finish()).ok());
}

TEST_F(RpcTest, StoppingTheCallerCancelsAUnaryCall) {
  client_stop_.request(StopReason::requested);
  const auto reply = run_(unary_call(*policy_stub_->async(), &v1::Policy::Stub::async::Info,
                                     v1::PolicyInfoRequest(), options(), client_stop_));
  ASSERT_FALSE(reply);
  EXPECT_EQ(kind_of(reply.error()), FailureKind::cancelled);
}

TEST_F(RpcTest, AnAddressThatCannotBeBoundIsAnError) {
  const auto second = RpcServer::start("unix:/no/such/folder/x.sock", {&policy_});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, testing::HasSubstr("/no/such/folder"));
}

}  // namespace
}  // namespace swage
