#include <gmock/gmock.h>
#include <grpcpp/server_builder.h>

#include "common/asio/clock.hpp"
#include "common/rpc/channel.hpp"
#include "common/rpc/client.hpp"
#include "common/rpc/server.hpp"
#include "swage/v1/trajectory.grpc.pb.h"
#include "tests/support/freezing_proxy.hpp"
#include "tests/support/task_runner.hpp"

namespace swage {
namespace {

using namespace std::chrono_literals;
using test::FreezingProxy;
using test::TaskRunner;
using v1::SubmitAnswer;
using v1::Trajectory;

constexpr Keepalive kQuick{200ms, 300ms};
constexpr Keepalive kOff{0ms, 0ms};

/// Answers each message; `left` counts the clients that have gone.
Task<grpc::Status> echo(BidiStream<Trajectory, SubmitAnswer> stream, int& left) {
  while (auto trajectory = co_await stream.read()) {
    SubmitAnswer answer;
    answer.set_rollout_id(trajectory->rollout_id());
    if (!co_await stream.write(std::move(answer))) break;
  }
  ++left;
  co_return grpc::Status::OK;
}

class EchoService final : public v1::Trajectories::CallbackService {
 public:
  EchoService(ServiceHome home, int& left) : home_(std::move(home)), left_(left) {}
  grpc::ServerBidiReactor<Trajectory, SubmitAnswer>* Submit(
      grpc::CallbackServerContext* context) override {
    return serve_bidi<Trajectory, SubmitAnswer>(home_, context, [this](auto stream, StopSource&) {
      return echo(std::move(stream), left_);
    });
  }

 private:
  ServiceHome home_;
  int& left_;
};

/// A stream between a client and a server of ours, through a proxy that can freeze.
class KeepaliveTest : public testing::Test {
 protected:
  using Call = BidiCall<Trajectory, SubmitAnswer>;

  void start(const Keepalive& server, const Keepalive& client) {
    auto started = RpcServer::start("127.0.0.1:0", {&service_}, server);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
    connect(server_->port(), client);
  }
  void connect(int port, const Keepalive& client) {
    proxy_ = std::make_unique<FreezingProxy>(port);
    stub_ = v1::Trajectories::NewStub(make_channel(proxy_->address(), client));
  }
  Call open() {
    return Call::open({long_stream_deadline(), ""}, [this](auto* context, auto* reactor) {
      stub_->async()->Submit(context, reactor);
    });
  }
  bool talk(Call& call) {
    Trajectory trajectory;
    trajectory.set_rollout_id("r");
    return run_(call.write(std::move(trajectory))) && run_(call.read()).has_value();
  }
  Task<> listen(Call& call, bool& ended) {
    std::ignore = co_await call.read();
    ended = true;
  }
  void TearDown() override {
    stub_.reset();
    if (server_) run_(server_->shut_down(0s));
    run_(gate_.join());
  }

  TaskRunner run_;
  StopSource stop_;
  Gate gate_{run_.executor(), stop_, 100};
  int left_ = 0;
  EchoService service_{{run_.executor(), gate_, ""}, left_};
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<FreezingProxy> proxy_;
  std::unique_ptr<v1::Trajectories::Stub> stub_;
};

TEST_F(KeepaliveTest, AStreamThatListensEndsWhenItsPeerIsGoneWithoutAWord) {
  start(kQuick, kQuick);
  auto call = open();
  ASSERT_TRUE(talk(call));
  bool ended = false;
  const auto listening = run_.start(listen(call, ended));
  EXPECT_FALSE(run_.wait_until([&] { return ended; }, 1s));  // silence alone ends nothing
  proxy_->freeze();
  ASSERT_TRUE(run_.wait_until([&] { return listening->ended; }, 10s));
  EXPECT_EQ(run_(call.finish()).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(KeepaliveTest, WithoutPingsNobodyNotices) {
  start(kOff, kOff);
  {
    auto call = open();
    ASSERT_TRUE(talk(call));
    proxy_->freeze();
    bool ended = false;
    const auto listening = run_.start(listen(call, ended));
    // Six times as long as it takes with them.
    EXPECT_FALSE(run_.wait_until([&] { return ended || left_ > 0; }, 3s));
    call.cancel();
    ASSERT_TRUE(run_.wait_until([&] { return listening->ended; }));
  }
}

TEST_F(KeepaliveTest, AServerNoticesAClientThatIsGone) {
  start(kQuick, kOff);
  auto call = open();
  ASSERT_TRUE(talk(call));
  proxy_->freeze();
  EXPECT_TRUE(run_.wait_until([&] { return left_ == 1; }, 10s));
}

TEST_F(KeepaliveTest, AnIdleConnectionOfBothLastsAsLongAsItIsAnswered) {
  start(kQuick, kQuick);
  auto call = open();
  ASSERT_TRUE(talk(call));
  bool ended = false;
  const auto listening = run_.start(listen(call, ended));
  EXPECT_FALSE(run_.wait_until([&] { return ended; }, 3s));  // about fifteen pings of each
  EXPECT_EQ(proxy_->accepted(), 1);
  Trajectory trajectory;
  EXPECT_TRUE(run_(call.write(std::move(trajectory))));
  EXPECT_TRUE(run_.wait_until([&] { return listening->ended; }));
}

/// What the permission is for: a server that is not told ends the connection.
TEST_F(KeepaliveTest, AServerWithoutOurArgumentsTakesThePingsForAnAttack) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service_);
  auto plain = builder.BuildAndStart();
  ASSERT_TRUE(plain);
  connect(port, kQuick);
  {
    auto call = open();
    ASSERT_TRUE(talk(call));
    bool ended = false;
    const auto listening = run_.start(listen(call, ended));
    EXPECT_TRUE(run_.wait_until([&] { return ended; }, 10s));
    EXPECT_THAT(run_(call.finish()).error_message(), testing::HasSubstr("pings"));
  }
  stub_.reset();
  EXPECT_TRUE(run_.wait_until([&] { return left_ == 1; }));
  plain->Shutdown();
}

}  // namespace
}  // namespace swage
