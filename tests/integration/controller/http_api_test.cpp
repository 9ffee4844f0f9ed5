#include "controller/app/http_api.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <set>

#include "common/base/files.hpp"
#include "common/http/client.hpp"
#include "common/http/health.hpp"
#include "common/http/server.hpp"
#include "common/rpc/server.hpp"
#include "swage/v1/trajectory.grpc.pb.h"
#include "tests/support/task_runner.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct SmallRun final : RunApi, RunIndex {
  json run_view() const override { return {{"name", "small"}, {"status", {{"phase", "Running"}}}}; }
  json live_rollouts() const override { return json::array(); }
  std::vector<json> pool_views() const override {
    return {{{"name", "local"}, {"namespace", "swage-pool"}}};
  }
  std::vector<RunApi*> runs() override { return {this}; }
  std::string run_uid() const override { return "0123456789abcdef"; }
  TrajectoryClient& trajectories() override { return *client; }
  std::string run_name() const override { return "small"; }
  Resumed resume(const std::string& pause_id) override {
    resumed.push_back(pause_id);
    return pause_id == "p1"   ? Resumed::done
           : pause_id.empty() ? Resumed::not_paused
                              : Resumed::wrong_pause;
  }
  void suspend() override { suspended = true; }
  std::vector<std::string> resumed;
  bool suspended = false;
  TrajectoryClient* client = nullptr;
};

/// A learner with one trajectory, over real gRPC.
class OneTrajectory final : public v1::Trajectories::CallbackService {
 public:
  explicit OneTrajectory(ServiceHome home) : home_(std::move(home)) {}
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const v1::GetTrajectoryRequest* request,
                                v1::Trajectory* reply) override {
    return serve_unary<v1::Trajectory>(home_, context, reply,
                                       [this, request] { return get(request->rollout_id()); });
  }
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const v1::ListTrajectoriesRequest* request,
                                 v1::ListTrajectoriesResponse* reply) override {
    return serve_unary<v1::ListTrajectoriesResponse>(
        home_, context, reply, [this, request] { return list(request->after_seq()); });
  }

 private:
  Task<ReplyOr<v1::Trajectory>> get(std::string id) {
    if (id != "r-1") co_return tl::unexpected(RpcError{grpc::StatusCode::NOT_FOUND, "no such"});
    v1::Trajectory out;
    out.set_rollout_id(id);
    for (const std::uint32_t token : {72U, 105U, 33U}) out.add_token_ids(token);
    out.set_loss_mask(std::string("\0\1\0", 3));
    auto& turn = *out.add_turns();
    turn.set_policy_begin(1);
    turn.set_policy_end(2);
    turn.set_observation_end(3);
    co_return out;
  }
  Task<ReplyOr<v1::ListTrajectoriesResponse>> list(std::uint64_t after) {
    v1::ListTrajectoriesResponse out;
    if (after == 0) {
      out.add_lines()->set_rollout_id("r-1");
      out.set_next_seq(1);
    }
    co_return out;
  }
  ServiceHome home_;
};

class HttpApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rpc_ = std::move(*RpcServer::start(address(), {&learner_}));
    trajectories_ = make_trajectory_client(
        address(), "secret", [](auto ids) { return std::string(ids.begin(), ids.end()); });
    api_ = std::make_unique<HttpApi>(small_, events_, *clock_, stop_);
    small_.client = trajectories_.get();
    add_health_routes(router_, metrics_, [] { return std::string(); });
    api_->add_routes(router_);
    auto http = HttpServer::start(run_.executor(), "127.0.0.1:0", router_, "secret");
    ASSERT_TRUE(http);
    http_ = std::move(*http);
  }
  void TearDown() override {
    run_(http_->stop());
    run_(rpc_->shut_down(0s));
    run_(gate_.join());
  }
  std::string address() const { return "unix:" + (directory_.path() / "l.sock").string(); }
  HttpTarget target(const std::string& token = "secret") const {
    return {"127.0.0.1", std::to_string(http_->port()), token};
  }
  HttpResponse ask(const std::string& method, const std::string& path, const std::string& body = "",
                   const std::string& token = "secret") {
    auto answer = run_(http_request(target(token), method, path, body, clock_->now() + 10s, stop_));
    EXPECT_TRUE(answer);
    return answer ? *answer : HttpResponse{};
  }
  json get(const std::string& path) { return json::parse(ask("GET", path).body); }

  test::TempDirectory directory_;
  test::TaskRunner run_;
  std::unique_ptr<Clock> clock_ = make_steady_clock();
  StopSource stop_;
  Gate gate_{run_.executor(), stop_};
  Metrics metrics_;
  SmallRun small_;
  EventFeed events_{run_.executor(), 1};
  OneTrajectory learner_{{run_.executor(), gate_, "secret"}};
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<TrajectoryClient> trajectories_;
  std::unique_ptr<HttpApi> api_;
  HttpRouter router_;
  std::unique_ptr<HttpServer> http_;
};

TEST_F(HttpApiTest, RunsAndPoolsAreListedAndShown) {
  EXPECT_EQ(get("/api/v1/runs")["items"][0]["name"], "small");
  EXPECT_EQ(get("/api/v1/runs/small")["status"]["phase"], "Running");
  EXPECT_EQ(get("/api/v1/pools")["items"][0]["name"], "local");
  EXPECT_EQ(get("/api/v1/pools/swage-pool.local")["namespace"], "swage-pool");
  EXPECT_EQ(get("/api/v1/pools/local")["namespace"], "swage-pool");  // as the list names it
}

TEST_F(HttpApiTest, AnUnknownThingIsAProblemObject) {
  for (const auto* path :
       {"/api/v1/runs/other", "/api/v1/pools/other", "/api/v1/rollouts/r-2", "/api/v1/nothing"}) {
    const auto answer = ask("GET", path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(answer.content_type, "application/problem+json") << path;
    EXPECT_TRUE(json::parse(answer.body).contains("title")) << path;
  }
  EXPECT_EQ(ask("GET", "/api/v1/runs/small/rollouts?cursor=x").status, 400);
}

TEST_F(HttpApiTest, AnEventCursorThatIsNoNumberIsRefusedBeforeTheStream) {
  const auto answer = ask("GET", "/api/v1/events?cursor=abc");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.content_type, "application/problem+json");
  EXPECT_THAT(answer.body, HasSubstr("cursor must be a whole number"));
  const auto watched = run_(http_events(target(), "/api/v1/events", "x", {}, stop_));
  ASSERT_FALSE(watched);
  EXPECT_THAT(watched.error(), HasSubstr("400"));
}

TEST_F(HttpApiTest, AWholeTrajectoryComesFromTheLearnersLogWithItsTexts) {
  const auto shown = get("/api/v1/rollouts/r-1");
  EXPECT_EQ(shown["prompt"], "H");
  EXPECT_EQ(shown["turns"][0]["policy"], "i");
  EXPECT_EQ(shown["turns"][0]["observation"], "!");
}

TEST_F(HttpApiTest, RolloutsArePagedByCursor) {
  const auto first = get("/api/v1/runs/small/rollouts");
  EXPECT_EQ(first["items"].size(), 1U);
  EXPECT_EQ(first["next_cursor"], "1");
  const auto second = get("/api/v1/runs/small/rollouts?cursor=1");
  EXPECT_TRUE(second["items"].empty());
  EXPECT_TRUE(second["next_cursor"].is_null());
}

TEST_F(HttpApiTest, AResumeNamesItsPause) {
  EXPECT_EQ(ask("POST", "/api/v1/runs/small/resume", R"({"pause_id": "p1"})").status, 202);
  EXPECT_EQ(ask("POST", "/api/v1/runs/small/resume", R"({"pause_id": "p0"})").status, 409);
  EXPECT_EQ(ask("POST", "/api/v1/runs/small/resume").status, 409);
  EXPECT_EQ(ask("POST", "/api/v1/runs/small/resume", R"({"pause_id": 1})").status, 400);
  EXPECT_THAT(small_.resumed, ElementsAre("p1", "p0", ""));
  EXPECT_EQ(ask("POST", "/api/v1/runs/small/suspend").status, 202);
  EXPECT_TRUE(small_.suspended);
}

TEST_F(HttpApiTest, WithoutTheTokenOnlyHealthAndMetricsAreOpen) {
  EXPECT_EQ(ask("GET", "/api/v1/runs", "", "wrong").status, 401);
  EXPECT_EQ(ask("GET", "/api/v1/rollouts/r-1", "", "").status, 401);
  for (const auto* path : {"/healthz", "/readyz", "/metrics"})
    EXPECT_EQ(ask("GET", path, "", "").status, 200) << path;
}

TEST_F(HttpApiTest, AWatcherGetsEventsAndGoesOnFromItsCursor) {
  events_.say("stage", {{"stage", "collect"}});
  events_.say("step", {{"step", 1}});
  std::vector<std::string> seen;
  const auto watch = run_.start(http_events(
      target(), "/api/v1/events", "1",
      [&](const ServerEvent& event) {
        seen.push_back(event.id + " " + event.event + " " + event.data);
        return seen.size() < 2;
      },
      stop_));
  ASSERT_TRUE(run_.wait_until([&] { return seen.size() == 1; }, 10s));
  events_.say("step", {{"step", 2}});
  ASSERT_TRUE(run_.wait_until([&] { return watch->ended; }, 10s));
  EXPECT_THAT(seen, ElementsAre(R"(2 step {"step":1})", R"(3 step {"step":2})"));
}

TEST_F(HttpApiTest, TheOpenApiFileNamesExactlyTheRoutes) {
  const char* root = std::getenv("SWAGE_SOURCE_DIR");
  ASSERT_NE(root, nullptr);
  const auto text = read_file(std::filesystem::path(root) / "docs/openapi.json");
  ASSERT_TRUE(text);
  const auto document = json::parse(*text);
  std::set<std::string> documented, served;
  for (const auto& [path, methods] : document["paths"].items())
    for (const auto& [method, operation] : methods.items()) {
      std::string upper = method;
      for (auto& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      documented.insert(upper + " " + path);
      EXPECT_FALSE(operation.value("summary", "").empty()) << path;
    }
  for (const auto& route : router_.routes()) served.insert(route.method + " " + route.path);
  EXPECT_EQ(documented, served);
}

}  // namespace
}  // namespace swage::controller
