#include <gmock/gmock.h>

#include "common/rpc/channel.hpp"
#include "common/rpc/client.hpp"
#include "controller/adapters/control_service.hpp"
#include "controller/adapters/dispatch_service.hpp"
#include "tests/support/task_runner.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

const std::string kUid = "0123456789abcdef";

/// Notes what the services say, in order.
struct Notes final : WorkerListener, LearnerListener {
  void worker_joined(const std::string& worker, std::uint32_t capacity) override {
    said.push_back("joined " + worker + " " + std::to_string(capacity));
  }
  void worker_reported(const std::string& worker, const RolloutNews& news) override {
    said.push_back("report " + worker + " " + news.attempt.rollout_id + " " +
                   std::to_string(news.turns));
  }
  void worker_ended(const std::string& worker, const RolloutAccount& account) override {
    said.push_back("end " + worker + " " + account.end.attempt.rollout_id + " " +
                   account.stop_reason);
  }
  void worker_left(const std::string& worker) override { said.push_back("left " + worker); }
  void learner_accepted(const std::vector<std::string>& ids) override {
    said.push_back("accepted " + std::to_string(ids.size()));
  }
  void learner_status(const LearnerStatus& status) override {
    said.push_back(std::string("status ") + stage_name(status.stage));
  }
  void learner_gone() override { said.emplace_back("learner gone"); }
  std::vector<std::string> said;
};

class StreamsTest : public ::testing::Test {
 protected:
  using WorkCall = BidiCall<v1::WorkerMessage, v1::DispatcherMessage>;
  using LearnerCall = BidiCall<v1::LearnerMessage, v1::ControllerCommand>;

  void SetUp() override {
    auto server = RpcServer::start(address(), {&dispatch_service_, &control_service_});
    dispatch_service_.open(dispatch_);
    control_service_.open(control_);
    ASSERT_TRUE(server);
    server_ = std::move(*server);
    work_stub_ = v1::Dispatch::NewStub(make_channel(address()));
    control_stub_ = v1::Control::NewStub(make_channel(address()));
  }
  void TearDown() override {
    run_(server_->shut_down(0s));
    run_(gate_.join());
  }
  std::string address() const { return "unix:" + (directory_.path() / "c.sock").string(); }
  CallOptions options(const std::string& token = "secret") const {
    return {std::chrono::steady_clock::now() + 20s, token};
  }
  WorkCall work(const std::string& token = "secret") {
    return WorkCall::open(options(token), [&](auto* context, auto* reactor) {
      work_stub_->async()->Work(context, reactor);
    });
  }
  LearnerCall learner() {
    return LearnerCall::open(options(), [&](auto* context, auto* reactor) {
      control_stub_->async()->Attach(context, reactor);
    });
  }
  static v1::WorkerMessage hello(const std::string& worker, const std::string& uid = kUid) {
    v1::WorkerMessage message;
    message.mutable_hello()->set_worker(worker);
    message.mutable_hello()->set_capacity(4);
    message.mutable_hello()->set_run_uid(uid);
    return message;
  }
  void wait_for(const std::string& note) {
    ASSERT_TRUE(run_.wait_until(
        [&] {
          return std::find(notes_.said.begin(), notes_.said.end(), note) != notes_.said.end();
        },
        10s))
        << note;
  }

  test::TempDirectory directory_;
  test::TaskRunner run_;
  Notes notes_;
  StopSource stop_;
  Gate gate_{run_.executor(), stop_};
  DispatchService dispatch_service_{{run_.executor(), gate_, "secret"}};
  ControlService control_service_{{run_.executor(), gate_, "secret"}};
  DispatchDesk dispatch_{run_.executor(), kUid, notes_};
  ControlDesk control_{run_.executor(), kUid, notes_};
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::Dispatch::Stub> work_stub_;
  std::unique_ptr<v1::Control::Stub> control_stub_;
};

TEST_F(StreamsTest, AnAssignmentGoesDownAndReportsComeUp) {
  auto call = work();
  ASSERT_TRUE(run_(call.write(hello("w1"))));
  const auto set = run_(call.read());
  ASSERT_TRUE(set && set->has_policy_set());

  AssignmentOrder order;
  order.rollout_id = "01234567-collect-0-0";
  order.epoch = 3;
  order.stage = Stage::collect;
  order.teacher = true;
  order.teacher_card = 5;
  order.task.id = "gelu";
  order.sandbox = {"unix:/x", "token", "uid"};
  EXPECT_FALSE(dispatch_.assign("w2", order));
  ASSERT_TRUE(dispatch_.assign("w1", order));
  const auto message = run_(call.read());
  ASSERT_TRUE(message && message->has_assignment());
  const auto& got = message->assignment();
  EXPECT_EQ(got.rollout().rollout_id(), order.rollout_id);
  EXPECT_EQ(got.actor(), v1::ACTOR_TEACHER);
  EXPECT_EQ(got.use(), v1::USE_IMITATION);
  EXPECT_EQ(got.teacher_card(), 5U);
  EXPECT_EQ(got.sandbox().token(), "token");

  v1::WorkerMessage report;
  *report.mutable_report()->mutable_rollout() = got.rollout();
  report.mutable_report()->set_turns(2);
  ASSERT_TRUE(run_(call.write(report)));
  v1::WorkerMessage done;
  *done.mutable_done()->mutable_rollout() = got.rollout();
  done.mutable_done()->set_stop_reason(v1::STOP_REASON_TURN_LIMIT);
  ASSERT_TRUE(run_(call.write(done)));
  wait_for("end w1 01234567-collect-0-0 turn_limit");
  call.cancel();
  run_(call.finish());
  wait_for("left w1");
  EXPECT_THAT(notes_.said, ElementsAre("joined w1 4", "report w1 01234567-collect-0-0 2",
                                       "end w1 01234567-collect-0-0 turn_limit", "left w1"));
}

TEST_F(StreamsTest, AWorkerThatReconnectsReplacesItsStreamWithoutLeaving) {
  auto first = work();
  ASSERT_TRUE(run_(first.write(hello("w1"))));
  wait_for("joined w1 4");
  auto second = work();
  ASSERT_TRUE(run_(second.write(hello("w1"))));
  ASSERT_TRUE(run_.wait_until([&] { return notes_.said.size() == 2; }, 10s));
  first.cancel();
  run_(first.finish());
  ASSERT_TRUE(dispatch_.assign("w1", {}));
  ASSERT_TRUE(run_(second.read())->has_policy_set());
  EXPECT_TRUE(run_(second.read())->has_assignment());
  EXPECT_THAT(notes_.said, ElementsAre("joined w1 4", "joined w1 4"));
  second.cancel();
  run_(second.finish());
}

TEST_F(StreamsTest, StrangersAreTurnedAway) {
  auto thief = work("wrong");
  run_(thief.read());
  EXPECT_EQ(run_(thief.finish()).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  auto foreign = work();
  run_(foreign.write(hello("w1", "another run")));
  EXPECT_FALSE(run_(foreign.read()));
  EXPECT_EQ(run_(foreign.finish()).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(notes_.said.empty());
}

TEST_F(StreamsTest, TheLearnerTellsItsLogBeforeItsStatusAndGetsCommands) {
  control_.set_policies({{"unix:/policy", 7}});
  auto call = learner();
  v1::LearnerMessage part;
  part.mutable_accepted()->set_run_uid(kUid);
  part.mutable_accepted()->add_rollout_ids("a");
  ASSERT_TRUE(run_(call.write(part)));
  part.mutable_accepted()->add_rollout_ids("b");
  part.mutable_accepted()->set_last(true);
  ASSERT_TRUE(run_(call.write(part)));
  v1::LearnerMessage status;
  status.mutable_status()->set_run_uid(kUid);
  status.mutable_status()->set_stage(v1::STAGE_EVALUATION);
  status.mutable_status()->set_stage_round(2);
  ASSERT_TRUE(run_(call.write(status)));
  wait_for("status eval2");
  EXPECT_THAT(notes_.said, ElementsAre("accepted 3", "status eval2"));
  const auto set = run_(call.read());
  ASSERT_TRUE(set && set->has_policy_set());
  EXPECT_EQ(set->policy_set().servers(0).weight_version(), 7U);
  control_.resume("pause-1");
  control_.stop("done");
  EXPECT_EQ(run_(call.read())->resume().pause_id(), "pause-1");
  EXPECT_EQ(run_(call.read())->stop().reason(), "done");
  call.cancel();
  run_(call.finish());
  wait_for("learner gone");
}

TEST_F(StreamsTest, AStatusBeforeTheAcceptedIdsIsRefused) {
  auto call = learner();
  v1::LearnerMessage status;
  status.mutable_status()->set_run_uid(kUid);
  ASSERT_TRUE(run_(call.write(status)));
  run_(call.read());  // the policy set
  EXPECT_FALSE(run_(call.read()));
  EXPECT_EQ(run_(call.finish()).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace swage::controller
