#include "common/asio/process.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/files.hpp"
#include "common/http/client.hpp"
#include "tests/integration/rollout_worker/fake_servers.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/task_runner.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::rollout_worker::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

fs::path binaries() { return environment_or("SWAGE_BIN_DIR", "build/dev/bin"); }

class WorkerProcess : public testing::Test {
 protected:
  WorkerProcess() : controller_(run_.executor(), "unix:" + (directory_.path() / "c").string()) {
    controller_.start();
  }
  ~WorkerProcess() override { run_(controller_.kill()); }

  nlohmann::json config() const {
    const auto tokenizer = binaries().parent_path() / "share/swage/tiny/tokenizer.json";
    return {{"name", "worker-0"},
            {"run", "test"},
            {"run_uid", "abcd1234"},
            {"http", "127.0.0.1:0"},
            {"ready_file", (directory_.path() / "ready").string()},
            {"controller", controller_.address()},
            {"learner", "unix:" + (directory_.path() / "l").string()},
            {"redis", {{"address", redis_.address()}}},
            {"pool", "local.cpu"},
            {"capacity", 8},
            {"tokenizer", tokenizer.string()},
            {"renderer", "tiny"},
            {"drain_seconds", 1}};
  }
  std::unique_ptr<Process> start(const nlohmann::json& config) {
    const auto file = directory_.path() / "config.json";
    std::ofstream(file) << config.dump();
    ProcessSpec spec;
    spec.argv = {(binaries() / "swage-rollout-worker").string(), "--config", file.string()};
    spec.env = current_environment();
    spec.log = directory_.path() / "log";
    return std::move(*Process::start(run_.executor(), spec));
  }
  std::string log() const { return read_file(directory_.path() / "log").value_or(""); }
  int http_port() const {
    return nlohmann::json::parse(*read_file(directory_.path() / "ready")).at("http_port");
  }
  HttpResponse get(const char* path) {
    StopSource stop;
    return run_(http_request({"127.0.0.1", std::to_string(http_port()), ""}, "GET", path, "",
                             std::chrono::steady_clock::now() + seconds(10), stop))
        .value();
  }

  swage::test::TempDirectory directory_;
  swage::test::TaskRunner run_;
  swage::test::RedisServer redis_;
  FakeDispatcher controller_;
};

TEST_F(WorkerProcess, ServesUntilItIsToldToStop) {
  const auto worker = start(config());
  ASSERT_TRUE(run_.wait_until(
      [&] { return !controller_.hellos.empty() && fs::exists(directory_.path() / "ready"); },
      seconds(60)))
      << log();
  EXPECT_EQ(controller_.hellos[0].worker(), "worker-0");
  EXPECT_EQ(controller_.hellos[0].capacity(), 8U);
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_THAT(get("/metrics").body, testing::HasSubstr("swage_rollout_active{run=\"test\"} 0"));

  run_(controller_.kill());
  ASSERT_TRUE(run_.wait_until([&] { return get("/readyz").status == 503; }, seconds(30)));
  EXPECT_EQ(get("/healthz").status, 200);
  controller_.start();
  ASSERT_TRUE(run_.wait_until([&] { return controller_.hellos.size() == 2; }, seconds(30)));

  worker->signal(SIGTERM, false);
  EXPECT_EQ(run_(worker->wait(), seconds(30)), 0) << log();
}

TEST_F(WorkerProcess, AMissingTokenizerIsSaidAtStart) {
  auto bad = config();
  bad["tokenizer"] = "/nonexistent/tokenizer.json";
  const auto worker = start(bad);
  EXPECT_EQ(describe_status(run_(worker->wait(), seconds(30))), "exit code 69");
  EXPECT_THAT(log(), testing::HasSubstr("/nonexistent/tokenizer.json"));
}

TEST_F(WorkerProcess, AnUnknownFieldIsSaidAtStart) {
  auto bad = config();
  bad["capacty"] = 3;
  const auto worker = start(bad);
  EXPECT_EQ(describe_status(run_(worker->wait(), seconds(30))), "exit code 64");
  EXPECT_THAT(log(), testing::HasSubstr("did you mean `capacity`"));
}

}  // namespace
}  // namespace swage::rollout_worker::test
