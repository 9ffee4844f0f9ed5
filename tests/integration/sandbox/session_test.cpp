#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "common/base/stop_graces.hpp"
#include "tests/integration/sandbox/sandbox_client.hpp"
#include "tests/support/signal_process.hpp"

namespace swage::sandbox {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Sandboxd, BelongsToTheFirstRolloutThatSaysHelloAndToNoOther) {
  SandboxUnderTest sandbox;
  v1::HelloResponse reply;
  ASSERT_TRUE(sandbox.hello("abc-agentic-1-1", &reply).ok());
  EXPECT_EQ(reply.pod_uid(), "uid-of-the-test");
  EXPECT_EQ(reply.isolation(), reply.missing().empty() ? "full" : "reduced");
  EXPECT_TRUE(sandbox.hello("abc-agentic-1-1").ok());  // the answer may have been lost
  const auto other = sandbox.hello("abc-agentic-1-2");
  EXPECT_EQ(other.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(other.error_message(), HasSubstr("belongs to rollout abc-agentic-1-1"));
}

TEST(Sandboxd, TurnsAwayWhoDoesNotKnowItsToken) {
  SandboxUnderTest sandbox;
  EXPECT_EQ(sandbox.hello("abc-agentic-1-1", nullptr, "a token of this tesT").error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(sandbox.hello("abc-agentic-1-2").ok());  // it is not bound yet
}

TEST(Sandboxd, LetsNobodyWorkBeforeHello) {
  SandboxUnderTest sandbox;
  EXPECT_FALSE(sandbox.lay());
  EXPECT_EQ(sandbox.finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST(Sandboxd, LaysTheWorkDirectoryAndAnswersInOrder) {
  SandboxUnderTest sandbox;
  sandbox.begin();
  const auto listed = sandbox.bash("ls; cat model.py | head -1; pwd");
  EXPECT_TRUE(listed.ok());
  EXPECT_EQ(listed.text(),
            "SKILL.md\nbinding.cpp\nbinding_registry.h\nkernels\nmodel.py\nutils\nimport torch\n"
            "/workspace/task\n");
  const auto skill = sandbox.call("Read", {{"file_path", "/workspace/task/SKILL.md"}});
  EXPECT_THAT(skill.text(), HasSubstr("OpenMP"));
  EXPECT_THAT(skill.text(), Not(HasSubstr("cuBLAS")));
  EXPECT_TRUE(sandbox.finish().ok());
}

TEST(Sandboxd, AMalformedCallIsAnsweredAndTheSessionGoesOn) {
  SandboxUnderTest sandbox;
  sandbox.begin();
  const auto broken = sandbox.call("Bash", nlohmann::json(R"({"command": )"));
  EXPECT_FALSE(broken.schema_valid());
  EXPECT_THAT(broken.text(), HasSubstr("not valid JSON"));
  const auto unknown = sandbox.call("Shell", {{"command", "ls"}});
  EXPECT_FALSE(unknown.schema_valid());
  EXPECT_THAT(unknown.text(), HasSubstr("the tools are Bash"));
  EXPECT_TRUE(sandbox.bash("true").ok());
}

TEST(Sandboxd, TheDigestFollowsTheAgentsSourcesAndNothingElse) {
  SandboxUnderTest sandbox;
  sandbox.begin();
  const auto before = sandbox.bash("true").work_digest();
  EXPECT_EQ(before.size(), 64U);
  EXPECT_EQ(sandbox.bash("echo x > notes.txt").work_digest(), before);
  const auto after = sandbox.bash("echo x > kernels/a.cpp").work_digest();
  EXPECT_NE(after, before);
  EXPECT_EQ(sandbox.bash("rm kernels/a.cpp").work_digest(), before);
}

TEST(Sandboxd, ATaskWhoseSourceIsNotWhatItsDigestSaysIsRefused) {
  SandboxUnderTest sandbox;
  ASSERT_TRUE(sandbox.hello("abc-agentic-1-1").ok());
  EXPECT_FALSE(sandbox.lay(false, [](v1::Task& task) { task.set_source(task.source() + "\n"); }));
  const auto status = sandbox.finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("does not have its digest"));
}

TEST(Sandboxd, AMissingTemplateIsNamedWithTheRemedy) {
  SandboxUnderTest sandbox(
      [](nlohmann::json& config) { config["template_directory"] = "/nowhere"; });
  ASSERT_TRUE(sandbox.hello("abc-agentic-1-1").ok());
  EXPECT_FALSE(sandbox.lay());
  EXPECT_THAT(sandbox.finish().error_message(), HasSubstr("set template_directory"));
}

TEST(Sandboxd, AnAddressInUseIsNamedAndLeavesNothingBehind) {
  const int busy = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(busy, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(busy, 1), 0);
  ::getsockname(busy, reinterpret_cast<sockaddr*>(&address), &size);
  const auto listen = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  SandboxUnderTest sandbox([&](nlohmann::json& config) { config["listen"] = listen; });
  EXPECT_EQ(WEXITSTATUS(sandbox.stop()), 69);
  EXPECT_THAT(sandbox.log(), HasSubstr("cannot listen on " + listen));
  ::close(busy);
}

TEST(Sandboxd, ARootDirectoryThatCannotBeMadeIsNamed) {
  SandboxUnderTest sandbox(
      [](nlohmann::json& config) { config["root_directory"] = "/proc/swage-cannot-be"; });
  EXPECT_EQ(WEXITSTATUS(sandbox.stop()), 74);
  EXPECT_THAT(sandbox.log(), HasSubstr("cannot make /proc/swage-cannot-be"));
}

TEST(Sandboxd, ASecondSessionIsRefused) {
  SandboxUnderTest sandbox;
  sandbox.begin();
  EXPECT_TRUE(sandbox.finish().ok());
  EXPECT_FALSE(sandbox.lay());
  EXPECT_THAT(sandbox.finish().error_message(), HasSubstr("one session a sandbox"));
}

TEST(Sandboxd, AnUnknownFieldInItsConfigurationIsNamed) {
  SandboxUnderTest sandbox([](nlohmann::json& config) { config["root_direktory"] = "/tmp"; });
  const int status = sandbox.stop();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 64);
  EXPECT_THAT(sandbox.log(), HasSubstr("root_direktory"));
}

TEST(Sandboxd, EndsOnRequestAndTakesTheAgentsProcessesAlong) {
  SandboxUnderTest sandbox;
  sandbox.begin();
  sandbox.call("Bash", {{"command", "sleep 1000"}, {"run_in_background", true}});
  const auto runner = sandbox.runner_pid();
  ASSERT_TRUE(alive(runner));
  EXPECT_EQ(sandbox.stop(), 0);
  EXPECT_TRUE(eventually([&] { return !alive(runner); }));
}

TEST(Sandboxd, EndsByItselfWithinTheGraceThatItIsGiven) {
  for (const bool reduced : {false, true}) {
    SandboxUnderTest sandbox([reduced](nlohmann::json& config) {
      config["allow_reduced"] = true;
      if (reduced) config["bubblewrap"] = "/nowhere/bwrap";
    });
    ASSERT_TRUE(sandbox.hello("abc-agentic-1-1").ok());
    sandbox.lay();
    // Some of whom no signal but the last one ends, and some who left their group.
    sandbox.bash(
        "for i in $(seq 20); do (trap '' TERM HUP INT; exec setsid sleep 1000) > /dev/null 2>&1 & "
        "(trap '' TERM HUP INT; sleep 1000) > /dev/null 2>&1 & done; true");
    sandbox.call("Bash", {{"command", "while :; do echo x; done"}, {"run_in_background", true}});
    const auto asked = std::chrono::steady_clock::now();
    EXPECT_EQ(sandbox.stop(), 0) << reduced;
    EXPECT_LT(std::chrono::steady_clock::now() - asked, kSandboxStop.grace) << reduced;
  }
}

TEST(Sandboxd, ARunnerThatIsKilledLosesTheSession) {
  SandboxUnderTest sandbox;
  sandbox.begin();
  ASSERT_EQ(test::signal_process(sandbox.runner_pid(), SIGKILL), 0);
  v1::SessionUp up;
  EXPECT_FALSE(sandbox.read(&up));
  const auto status = sandbox.finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("container ended"));
}

/// A TCP port of this machine; nobody listens on it any more once the object is gone.
class Port {
 public:
  Port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_, 1), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    name_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~Port() { ::close(socket_); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  const std::string& name() const { return name_; }

 private:
  int socket_;
  std::string name_;
};

TEST(Sandboxd, ServesNobodyWhereItReachesWhatNoAgentMay) {
  std::string closed;
  {
    const Port open;
    closed = open.name();
    SandboxUnderTest sandbox([&](nlohmann::json& config) {
      config["must_not_reach"] = {"not an address", open.name()};
    });
    EXPECT_THAT(sandbox.log(), HasSubstr(open.name() + " can be reached from here"));
    EXPECT_EQ(WEXITSTATUS(sandbox.stop()), 77);
  }
  SandboxUnderTest sandbox([&](nlohmann::json& config) { config["must_not_reach"] = {closed}; });
  EXPECT_TRUE(sandbox.hello("abc-agentic-1-1").ok());
}

}  // namespace
}  // namespace swage::sandbox
