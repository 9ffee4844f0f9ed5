#include "cli/app/api_call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "common/asio/asio.hpp"
#include "common/http/server.hpp"

namespace swage::cli {
namespace {

using testing::HasSubstr;

/// A server on a thread of its own, for ask_json runs an event loop until it has its answer.
class Controller {
 public:
  explicit Controller(const HttpRouter& router) {
    auto started = HttpServer::start(io_.get_executor(), "127.0.0.1:0", router, "secret");
    EXPECT_TRUE(started);
    server_ = std::move(*started);
    thread_ = std::thread([this] { io_.run(); });
  }
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  ~Controller() {
    asio::co_spawn(io_, server_->stop(), [this](const std::exception_ptr&) { io_.stop(); });
    thread_.join();
  }
  HttpTarget target() const { return {"127.0.0.1", std::to_string(server_->port()), "secret"}; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }

 private:
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> busy_{io_.get_executor()};
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

/// As the leader: says what it was asked.
HttpRouter leading() {
  struct Say {
    static Task<HttpResponse> what(HttpRequest request) {
      co_return HttpResponse::json(
          {{"name", request.params["name"]}, {"q", request.query["q"]}, {"body", request.body}});
    }
  };
  HttpRouter out;
  out.get("/api/v1/runs/{name}", Say::what);
  out.post("/api/v1/runs/{name}", Say::what);
  return out;
}

/// As a standby: `location` is what it names, and the path of the request after it.
HttpRouter standing_by(const std::string& location) {
  struct Point {
    static Task<HttpResponse> elsewhere(std::string to, HttpRequest request) {
      HttpResponse out;
      out.status = 307;
      out.headers.emplace_back("location", to + request.path + "?q=" + request.query["q"]);
      co_return out;
    }
  };
  HttpRouter out;
  const auto handler = [location](HttpRequest request) {
    return Point::elsewhere(location, std::move(request));
  };
  out.get("/api/v1/runs/{name}", handler);
  out.post("/api/v1/runs/{name}", handler);
  return out;
}

TEST(ApiCall, AStandbysAnswerLeadsToTheLeaderWithQueryBodyAndToken) {
  const Controller leader(leading());
  const Controller standby(standing_by(leader.url()));
  const auto read = ask_json(standby.target(), "GET", "/api/v1/runs/a?q=1");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(*read, (nlohmann::json{{"name", "a"}, {"q", "1"}, {"body", ""}}));
  const auto written = ask_json(standby.target(), "POST", "/api/v1/runs/a?q=2", R"({"id":"p"})");
  ASSERT_TRUE(written) << written.error();
  EXPECT_EQ(written->at("body"), R"({"id":"p"})");
}

TEST(ApiCall, TwoThatNameEachOtherAreNotFollowedForEver) {
  const Controller last(standing_by("http://127.0.0.1:1"));
  const Controller first(standing_by(last.url()));
  const auto read = ask_json(first.target(), "GET", "/api/v1/runs/a");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error(), HasSubstr("leader is changing"));
}

TEST(ApiCall, ALeaderWithoutAnAddressIsAnError) {
  for (const auto* location : {"", "nowhere", "https://host:1"}) {
    const Controller standby(standing_by(location));
    const auto read = ask_json(standby.target(), "GET", "/api/v1/runs/a");
    ASSERT_FALSE(read) << location;
    EXPECT_THAT(read.error(), HasSubstr("does not lead")) << location;
  }
}

}  // namespace
}  // namespace swage::cli
