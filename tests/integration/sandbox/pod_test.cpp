#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/descriptor.hpp"
#include "common/base/files.hpp"
#include "tests/integration/sandbox/sandbox_client.hpp"
#include "tests/support/signal_process.hpp"

extern char** environ;

namespace swage::sandbox {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kAgent = "64900";

/// Directories that two containers share; not below /tmp, of which the agent has its own.
class Shared {
 public:
  Shared() {
    std::string name = "/var/tmp/swage-pod-XXXXXX";
    path_ = ::mkdtemp(name.data());
    fs::permissions(path_, fs::perms(0755));
    fs::create_directories(path_ / "run");
    fs::create_directories(path_ / "workspace");
  }
  ~Shared() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  fs::path run() const { return path_ / "run"; }
  fs::path work() const { return path_ / "workspace/task"; }

 private:
  fs::path path_;
};

/// What a kubelet makes of the container `agent`: processes, /tmp and user of its own, and the
/// shared directory read-only.
class AgentPod {
 public:
  explicit AgentPod(const Shared& shared) {
    const auto run = shared.run().string();
    const auto script = "mount -t tmpfs none /tmp && mount --bind " + run + " " + run +
                        " && mount -o remount,ro,bind " + run +
                        " && exec setpriv --reuid=" + kAgent + " --regid=" + kAgent +
                        " --clear-groups " + environment_or("SWAGE_BIN_DIR", "bin") +
                        "/swage-sandboxd runner --meet " + run;
    std::vector<std::string> argv{"unshare", "--mount",      "--propagation=private", "--pid",
                                  "--fork",  "--kill-child", "--mount-proc",          "sh",
                                  "-c",      script};
    std::vector<char*> pointers;
    for (auto& argument : argv) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    EXPECT_EQ(::posix_spawnp(&pid_, pointers[0], nullptr, nullptr, pointers.data(), environ), 0);
  }
  ~AgentPod() {
    test::signal_process(pid_, SIGKILL);
    if (!ended_) ::waitpid(pid_, nullptr, 0);
  }
  AgentPod(const AgentPod&) = delete;
  AgentPod& operator=(const AgentPod&) = delete;
  bool has_ended() {
    if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
    return ended_;
  }
  /// As waitpid says it; of one that has ended.
  int status() const { return status_; }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

class InPod : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be what a kubelet is";
    agent_ = std::make_unique<AgentPod>(shared_);
    sandbox_ = std::make_unique<SandboxUnderTest>([this](nlohmann::json& config) {
      config["pod"] = {{"shared_directory", shared_.run().string()},
                       {"work_directory", shared_.work().string()}};
      config["bubblewrap"] = "/nowhere/bwrap";
    });
    sandbox_->begin();
  }
  Shared shared_;
  std::unique_ptr<AgentPod> agent_;
  std::unique_ptr<SandboxUnderTest> sandbox_;
};

TEST_F(InPod, TheAgentIsAnotherUserInAnotherContainerAndNothingIsMissing) {
  v1::HelloResponse facts;
  ASSERT_TRUE(sandbox_->hello("abc-agentic-1-1", &facts).ok());
  EXPECT_EQ(facts.isolation(), "full");
  EXPECT_EQ(sandbox_->bash("id -u; id -g").text(), std::string(kAgent) + "\n" + kAgent + "\n");
  sandbox_->bash("kill -9 1; kill -9 -1");
  EXPECT_EQ(sandbox_->bash("echo still here").text(), "still here\n");
  EXPECT_THAT(sandbox_->bash("python3 -c 'import socket; socket.socket(socket.AF_INET)'").text(),
              HasSubstr("Address family not supported"));
}

TEST_F(InPod, ProtectedFilesCannotBeChangedMovedOrRemoved) {
  const auto tried = sandbox_->bash(
      "echo x > model.py; rm -f SKILL.md; mv binding.cpp b.cpp; mv utils u; chmod 777 model.py; "
      "echo x > utils/desk.py; rm -rf utils; ls SKILL.md binding.cpp utils/desk.py");
  EXPECT_THAT(tried.text(), EndsWith("SKILL.md\nbinding.cpp\nutils/desk.py\n"));
  EXPECT_FALSE(
      sandbox_->call("Write", {{"file_path", "/workspace/task/model.py"}, {"content", "x"}}).ok());
  const auto own = sandbox_->call(
      "Write", {{"file_path", "/workspace/task/kernels/a.cpp"}, {"content", "int a;\n"}});
  EXPECT_TRUE(own.ok()) << own.text();
  const auto packed = sandbox_->pack();
  EXPECT_THAT(packed.DebugString(), HasSubstr("kernels/a.cpp"));
}

TEST_F(InPod, NobodyElseCanPassItselfOffAsTheRunnerOrReplaceWhatIsShared) {
  const auto run = shared_.run().string();
  const auto tried = sandbox_->bash("ls " + run + "; rm -rf " + run + "/bin; touch " + run + "/x");
  EXPECT_THAT(tried.text(), Not(HasSubstr("runner.sock")));
  EXPECT_THAT(tried.text(), HasSubstr("Read-only file system"));
  EXPECT_EQ(sandbox_->bash("sudo echo x").text(), "x\n");
}

TEST_F(InPod, TheRunnersEndIsTheSessionsAndTheSessionsEndIsTheRunners) {
  EXPECT_FALSE(agent_->has_ended());
  EXPECT_TRUE(sandbox_->finish().ok());
  EXPECT_TRUE(eventually([&] { return agent_->has_ended(); }));
}

/// Most sandboxes end like this: with their run, without ever having had a session.
TEST(WarmPod, ARunnerWhoseSandboxdEndsBeforeASessionEndsWell) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be what a kubelet is";
  const Shared shared;
  const auto path = shared.run() / "runner.sock";
  const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  fs::permissions(path, fs::perms::all);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  AgentPod agent(shared);
  {
    const Descriptor runner(::accept(listener.get(), nullptr, nullptr));
  }
  ASSERT_TRUE(eventually([&] { return agent.has_ended(); }));
  EXPECT_EQ(agent.status(), 0);
}

TEST_F(InPod, ARunnerThatIsKilledEndsTheSessionAsLost) {
  agent_.reset();
  v1::SessionUp up;
  EXPECT_FALSE(sandbox_->read(&up));
  EXPECT_THAT(sandbox_->finish().error_message(), HasSubstr("its stream ended"));
}

}  // namespace
}  // namespace swage::sandbox
