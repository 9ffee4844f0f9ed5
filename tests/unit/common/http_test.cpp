#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/http/client.hpp"
#include "common/http/health.hpp"
#include "common/http/server.hpp"
#include "tests/support/task_runner.hpp"

namespace swage {
namespace {

using test::TaskRunner;

using testing::HasSubstr;

Task<HttpResponse> echo(HttpRequest request) {
  co_return HttpResponse::json(
      {{"id", request.params["id"]}, {"q", request.query["q"]}, {"body", request.body}});
}

Task<> count(HttpRequest request, EventSink& sink, StopSource&) {
  const auto cursor = request.headers["last-event-id"];
  for (int i = cursor.empty() ? 0 : std::stoi(cursor) + 1; i < 4; ++i)
    if (!co_await sink.send(std::to_string(i), "tick", "line " + std::to_string(i) + "\nmore"))
      co_return;
}

class HttpTest : public testing::Test {
 protected:
  HttpTest() {
    metrics_.counter("swage_test_total", "Counts.").Increment();
    HttpRouter router;
    router.get("/api/things/{id}", echo);
    router.post("/api/things/{id}", echo);
    router.events("/api/events", count);
    add_health_routes(router, metrics_, [this] { return why_not_ready_; });
    auto started = HttpServer::start(run_.executor(), "127.0.0.1:0", router, "secret");
    EXPECT_TRUE(started);
    server_ = std::move(*started);
    target_ = {"127.0.0.1", std::to_string(server_->port()), "secret"};
  }
  ~HttpTest() override { run_(server_->stop()); }

  HttpResponse call(const std::string& method, const std::string& path, std::string body = "") {
    auto answer =
        run_(http_request(target_, method, path, std::move(body),
                          std::chrono::steady_clock::now() + std::chrono::seconds(5), stop_));
    EXPECT_TRUE(answer) << answer.error();
    return answer ? *answer : HttpResponse{};
  }

  TaskRunner run_;
  Metrics metrics_;
  StopSource stop_;
  std::string why_not_ready_;
  std::unique_ptr<HttpServer> server_;
  HttpTarget target_;
};

TEST_F(HttpTest, ARouteSeesItsParametersQueryAndBody) {
  const auto answer = call("POST", "/api/things/a%20b?q=1+2", "hello");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(nlohmann::json::parse(answer.body),
            (nlohmann::json{{"id", "a b"}, {"q", "1 2"}, {"body", "hello"}}));
}

TEST_F(HttpTest, WithoutTheTokenOnlyHealthRoutesAnswer) {
  target_.token = "wrong";
  EXPECT_EQ(call("GET", "/api/things/x").status, 401);
  EXPECT_EQ(call("GET", "/healthz").status, 200);
  EXPECT_THAT(call("GET", "/metrics").body, HasSubstr("swage_test_total 1"));
}

TEST_F(HttpTest, ReadinessSaysWhyNot) {
  EXPECT_EQ(call("GET", "/readyz").status, 200);
  why_not_ready_ = "waiting for Redis";
  const auto answer = call("GET", "/readyz");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("waiting for Redis"));
}

TEST_F(HttpTest, MistakesAreProblemObjects) {
  EXPECT_EQ(call("GET", "/nothing").status, 404);
  EXPECT_EQ(call("DELETE", "/api/things/x").status, 405);
  EXPECT_EQ(call("GET", "/%zz").status, 400);
  EXPECT_EQ(nlohmann::json::parse(call("GET", "/nothing").body).at("status"), 404);
}

TEST_F(HttpTest, APathThatIsNotUtf8IsAProblemObjectAndNoOneElseNoticesIt) {
  const auto answer = call("GET", "/%ff");
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(nlohmann::json::parse(answer.body).at("detail"), HasSubstr("\uFFFD"));
  EXPECT_EQ(call("GET", "/healthz").status, 200);
}

TEST_F(HttpTest, ABodyOverTheLimitIsRefused) {
  EXPECT_EQ(call("POST", "/api/things/x", std::string(1 << 20, 'x')).status, 200);
  EXPECT_EQ(call("POST", "/api/things/x", std::string((1 << 20) + 1, 'x')).status, 413);
}

TEST_F(HttpTest, AnEventStreamGoesOnFromItsCursor) {
  std::string seen;
  const auto note = [&](const ServerEvent& event) {
    seen += event.id + ":" + event.data + ";";
    return true;
  };
  EXPECT_TRUE(run_(http_events(target_, "/api/events", "1", note, stop_)));
  EXPECT_EQ(seen, "2:line 2\nmore;3:line 3\nmore;");
}

TEST_F(HttpTest, APortInUseIsAnErrorThatNamesIt) {
  const auto second = HttpServer::start(
      run_.executor(), "127.0.0.1:" + std::to_string(server_->port()), HttpRouter(), "");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("choose another port"));
}

TEST(HttpClient, AnAddressThatIsNoneIsRefused) {
  EXPECT_TRUE(parse_http_url("http://127.0.0.1:80/"));
  EXPECT_FALSE(parse_http_url("https://127.0.0.1:80"));
  EXPECT_FALSE(parse_http_url("http://host"));
}

}  // namespace
}  // namespace swage
