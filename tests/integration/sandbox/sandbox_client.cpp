#include "tests/integration/sandbox/sandbox_client.hpp"

#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "tests/support/signal_process.hpp"

extern char** environ;

namespace swage::sandbox {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kModel =
    "import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n"
    "    def forward(self, x):\n        return torch.relu(x)\n\n\n"
    "def get_inputs():\n    return [torch.randn(4, 4)]\n\n\ndef get_init_inputs():\n    return "
    "[]\n";

constexpr std::array kStrays{7, 57};

std::string program() { return environment_or("SWAGE_BIN_DIR", "bin") + "/swage-sandboxd"; }

json toolchain() {
#ifdef SWAGE_TEST_TORCH_DIR
  const fs::path torch = SWAGE_TEST_TORCH_DIR;
  // <venv>/lib/python3.x/site-packages/torch
  const auto venv = torch.parent_path().parent_path().parent_path().parent_path();
  return {{"cxx", "/usr/bin/g++"},
          {"torch_directory", torch.string()},
          {"python", (venv / "bin/python3").string()}};
#else
  return {{"torch_directory", "/nowhere"}, {"python", "/usr/bin/python3"}};
#endif
}

json configuration(const fs::path& directory) {
  json out{{"name", "test-sandbox"},
           {"listen", "unix:" + (directory / "grpc.sock").string()},
           {"ready_file", (directory / "ready").string()},
           {"pod_uid", "uid-of-the-test"},
           {"sandbox_token_sha256", sha256_hex(kToken)},
           {"root_directory", (directory / "root").string()},
           {"object_cache_directory", std::string(SWAGE_TEST_CACHE) + "/objects"},
           {"header_cache_directory", std::string(SWAGE_TEST_CACHE) + "/headers"},
           {"toolchain", toolchain()},
           {"wall_clock_seconds", 600}};
  if (::geteuid() == 0) out["agent_uid"] = 64100 + ::getpid() % 800;
  return out;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> out;
  std::ifstream in("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  for (pid_t child = 0; in >> child;) out.push_back(child);
  return out;
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string name = "/tmp/swage-test-XXXXXX";
  path_ = ::mkdtemp(name.data());
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

SandboxUnderTest::SandboxUnderTest(const std::function<void(json&)>& change) {
  auto config = configuration(directory_.path());
  if (change) change(config);
  if (config.contains("pod")) work_ = config["pod"]["work_directory"].get<std::string>();
  const auto file = directory_.path() / "config.json";
  std::ofstream(file) << config.dump(1);
  std::vector<std::string> argv{program(), "serve", "--config", file.string()};
  std::vector<char*> pointers;
  for (auto& argument : argv) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto log = (directory_.path() / "log").string();
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  // What sandboxd itself was started with must not reach the agent.
  for (const int number : kStrays) posix_spawn_file_actions_adddup2(&actions, 2, number);
  EXPECT_EQ(::posix_spawn(&pid_, argv[0].c_str(), &actions, nullptr, pointers.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  eventually([&] { return fs::exists(directory_.path() / "ready") || !alive(pid_); });
  stub_ = v1::Sandbox::NewStub(
      grpc::CreateChannel(config["listen"].get<std::string>(), grpc::InsecureChannelCredentials()));
}

SandboxUnderTest::~SandboxUnderTest() {
  if (stream_) context_->TryCancel();
  stream_.reset();
  if (pid_ > 0) stop();
  if (testing::Test::HasFailure()) std::fprintf(stderr, "sandboxd's log:\n%s\n", log().c_str());
}

int SandboxUnderTest::stop() {
  test::signal_process(pid_, SIGTERM);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

std::string SandboxUnderTest::log() const {
  return read_file(directory_.path() / "log").value_or("(no log)");
}

grpc::Status SandboxUnderTest::hello(const std::string& rollout, v1::HelloResponse* reply,
                                     const std::string& token) {
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer " + token);
  context.set_deadline(std::chrono::system_clock::now() + 20s);
  v1::HelloRequest request;
  request.mutable_rollout()->set_rollout_id(rollout);
  request.mutable_rollout()->set_attempt(1);
  v1::HelloResponse ignored;
  return stub_->Hello(&context, request, reply != nullptr ? reply : &ignored);
}

bool SandboxUnderTest::lay(bool profile_scores, const std::function<void(v1::Task&)>& change) {
  context_ = std::make_unique<grpc::ClientContext>();
  context_->AddMetadata("authorization", std::string("Bearer ") + kToken);
  context_->set_deadline(std::chrono::system_clock::now() + 280s);
  stream_ = stub_->Session(context_.get());
  v1::SessionDown down;
  auto* task = down.mutable_lay()->mutable_task();
  task->set_id("relu");
  task->set_source(kModel);
  task->set_digest(sha256_hex(kModel));
  task->set_device_kind("cpu");
  if (change) change(*task);
  down.mutable_lay()->set_profile_scores(profile_scores);
  send(down);
  v1::SessionUp up;
  return read(&up) && up.has_laid() && up.laid().work_directory() == work_;
}

void SandboxUnderTest::begin(bool profile_scores) {
  ASSERT_TRUE(hello("abc-agentic-1-1").ok());
  ASSERT_TRUE(lay(profile_scores));
}

void SandboxUnderTest::send(const v1::SessionDown& message) { stream_->Write(message); }

bool SandboxUnderTest::read(v1::SessionUp* message) { return stream_->Read(message); }

v1::ToolResult SandboxUnderTest::call(const std::string& name, const json& arguments,
                                      const Judge& judge) {
  v1::SessionDown down;
  const auto id = next_id_++;
  down.mutable_tool()->set_id(id);
  down.mutable_tool()->set_name(name);
  down.mutable_tool()->set_arguments_json(arguments.is_string() ? arguments.get<std::string>()
                                                                : arguments.dump());
  send(down);
  v1::SessionUp up;
  while (read(&up)) {
    if (up.has_result() && up.result().id() == id) return up.result();
    if (!up.has_ask()) continue;
    v1::SessionDown answer;
    *answer.mutable_answer() = judge ? judge(up.ask()) : passing_answer(up.ask());
    send(answer);
  }
  ADD_FAILURE() << "the session ended during " << name;
  return {};
}

v1::ToolResult SandboxUnderTest::bash(const std::string& command, int timeout_ms,
                                      const Judge& judge) {
  return call("Bash", {{"command", command}, {"timeout", timeout_ms}}, judge);
}

v1::WorkPacked SandboxUnderTest::pack() {
  v1::SessionDown down;
  down.mutable_pack()->set_id(next_id_++);
  send(down);
  v1::SessionUp up;
  while (read(&up))
    if (up.has_packed()) return up.packed();
  ADD_FAILURE() << "the session ended before the bundle came";
  return {};
}

grpc::Status SandboxUnderTest::finish() {
  stream_->WritesDone();
  v1::SessionUp ignored;
  while (read(&ignored)) {
  }
  const auto status = stream_->Finish();
  stream_.reset();
  return status;
}

pid_t SandboxUnderTest::runner_pid() const {
  for (const auto bwrap : children_of(pid_))
    for (const auto runner : children_of(bwrap)) return runner;
  return -1;
}

v1::EvaluationAnswer passing_answer(const v1::EvaluationAsk& ask) {
  v1::EvaluationAnswer out;
  out.set_id(ask.id());
  auto* verdict = out.mutable_verdict();
  verdict->set_code(v1::VERDICT_CODE_OK);
  verdict->set_tier(3);
  for (int i = 0; i < 5; ++i) {
    auto* check = verdict->add_checks();
    check->set_kind("random");
    check->set_passed(true);
  }
  if (ask.mode() == v1::EVALUATION_MODE_VERIFY) return out;
  verdict->mutable_timing()->mutable_candidate()->set_calibrated_us(80);
  verdict->mutable_timing()->mutable_eager()->set_calibrated_us(200);
  verdict->mutable_timing()->mutable_compile()->set_calibrated_us(100);
  return out;
}

bool alive(pid_t pid) {
  const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!stat) return false;
  const auto end = stat->rfind(')');
  return end != std::string::npos && stat->substr(end + 2, 1) != "Z";
}

bool eventually(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

}  // namespace swage::sandbox
