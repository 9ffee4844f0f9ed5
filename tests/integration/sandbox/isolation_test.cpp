#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>

#include "tests/integration/sandbox/sandbox_client.hpp"

namespace swage::sandbox {
namespace {

using testing::HasSubstr;
using testing::Not;

class Isolation : public testing::Test {
 protected:
  static void small(nlohmann::json& config) {
    config["limits"] = {{"memory_bytes", 256 << 20},
                        {"work_bytes", 8 << 20},
                        {"temporary_bytes", 8 << 20},
                        {"processes", 64},
                        {"data_bytes", 1024LL << 20}};
  }
  void SetUp() override { sandbox_.begin(); }
  SandboxUnderTest sandbox_{small};
};

TEST_F(Isolation, ProtectedFilesCannotBeChangedMovedOrRemoved) {
  const auto tried = sandbox_.bash(
      "echo x > model.py; rm -f SKILL.md; mv binding.cpp b.cpp; mv utils u; chmod 777 model.py; "
      "echo x > utils/desk.py; rm -rf utils; ls SKILL.md binding.cpp utils/desk.py");
  EXPECT_THAT(tried.text(), testing::EndsWith("SKILL.md\nbinding.cpp\nutils/desk.py\n"));
  const auto written = sandbox_.call("Read", {{"file_path", "/workspace/task/model.py"}});
  EXPECT_TRUE(written.ok());
  const auto refused =
      sandbox_.call("Write", {{"file_path", "/workspace/task/model.py"}, {"content", "x"}});
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.text(), HasSubstr("read-only; put your work into"));
}

TEST_F(Isolation, TheAgentIsAnotherUserAndSeesNothingOfTheMachine) {
  const auto seen = sandbox_.bash(
      "id -u; ls /proc | grep -c '^[0-9]'; ls / | tr '\\n' ' '; cat /proc/1/environ; ls /root "
      "/home; "
      "kill -9 1; kill -9 -1; echo alive");
  EXPECT_THAT(seen.text(), Not(HasSubstr("\n0\n")));
  const auto after = sandbox_.bash("echo still here");
  EXPECT_EQ(after.text(), "still here\n");
  EXPECT_THAT(sandbox_.bash("ls /proc/1/fd; cat /proc/1/maps").text(),
              HasSubstr("Permission denied"));
}

TEST_F(Isolation, TheAgentHasNoNetworkNoNamespacesAndNoTracing) {
  const auto tried = sandbox_.bash(
      "python3 -c 'import socket; socket.socket(socket.AF_INET)'; "
      "python3 -c 'import socket; socket.socket(socket.AF_UNIX); print(\"unix works\")'; "
      "unshare -Ur true; cat /proc/net/dev | wc -l");
  EXPECT_THAT(tried.text(), HasSubstr("Address family not supported"));
  EXPECT_THAT(tried.text(), HasSubstr("unix works"));
  EXPECT_THAT(tried.text(), HasSubstr("unshare failed: Operation not permitted"));
}

TEST_F(Isolation, TheAgentsProcessesHaveNoDescriptorsButTheirOwn) {
  // 3 is the directory that ls reads. The runner's stream to sandboxd would be there too: whoever
  // has it can say what results the rollout gets.
  EXPECT_EQ(sandbox_.bash("ls /proc/self/fd").text(), "0\n1\n2\n3\n");
  EXPECT_EQ(sandbox_.bash("ls /proc/$$/fd").text(), "0\n1\n2\n");
  EXPECT_EQ(sandbox_.bash("(sleep 0.1; ls /proc/self/fd) & wait").text(), "0\n1\n2\n3\n");
  EXPECT_EQ(sandbox_.bash("python3 -c 'import os; print(os.listdir(\"/proc/self/fd\"))'").text(),
            "['0', '1', '2', '3']\n");
  ASSERT_TRUE(
      sandbox_.call("Bash", {{"command", "exec ls /proc/self/fd"}, {"run_in_background", true}})
          .ok());
  std::string shown;
  EXPECT_TRUE(eventually([&] {
    shown += sandbox_.call("BashOutput", {{"bash_id", "bash_1"}}).text();
    return shown.find("[ended") != std::string::npos;
  }));
  EXPECT_THAT(shown, HasSubstr("0\n1\n2\n3\n["));
}

TEST_F(Isolation, SudoIsAShimThatRunsTheCommandAsItIs) {
  EXPECT_EQ(sandbox_.bash("whoami").text(), "agent\n");
  EXPECT_EQ(sandbox_.bash("sudo -E A=1 bash -c 'echo $A'; sudo -u root echo x").text(), "1\nx\n");
  EXPECT_NE(sandbox_.bash("sudo id -u").text(), "0\n");
}

TEST_F(Isolation, AForkBombIsBoundedAndGoesWithItsCommand) {
  const auto bomb = sandbox_.bash(":(){ :|:& };: ; sleep 1000", 2000);
  EXPECT_THAT(bomb.text(), HasSubstr("timed out"));
  EXPECT_TRUE(eventually([&] { return sandbox_.bash("echo back").text() == "back\n"; }));
}

TEST_F(Isolation, AMemoryHogIsKilledAndTheSessionGoesOn) {
  const auto hog = sandbox_.bash("python3 -c 'x = bytearray(2_000_000_000); print(\"had it\")'");
  EXPECT_FALSE(hog.ok());
  EXPECT_THAT(hog.text(), Not(HasSubstr("had it")));
  const auto many = sandbox_.bash(
      "for i in 1 2 3 4; do python3 -c 'x = bytearray(200_000_000); import time; time.sleep(1); "
      "print(\"had it\")' & done; wait",
      30'000);
  EXPECT_TRUE(sandbox_.bash("true").ok());
  v1::HelloResponse facts;
  sandbox_.hello("abc-agentic-1-1", &facts);
  if (facts.isolation() == "full") EXPECT_THAT(many.text(), HasSubstr("Killed"));
}

TEST_F(Isolation, AFullDiskStopsTheAgentAndNobodyElse) {
  const auto filled =
      sandbox_.bash("head -c 100000000 /dev/zero > big; head -c 100000000 /dev/zero > /tmp/big");
  EXPECT_THAT(filled.text(), HasSubstr("No space left"));
  const auto refused = sandbox_.call(
      "Write", {{"file_path", "/workspace/task/a.py"}, {"content", std::string(100'000, 'x')}});
  EXPECT_THAT(refused.text(), HasSubstr("disk space of the sandbox is used up"));
  // Bash needs a little room in /tmp for itself; the file tools go on without.
  EXPECT_TRUE(sandbox_.call("Read", {{"file_path", "/workspace/task/model.py"}}).ok());
}

TEST_F(Isolation, ABackgroundProcessThatHidesEndsWithTheSession) {
  sandbox_.bash("setsid nohup sleep 1000 > /dev/null 2>&1 & disown; sleep 0.1");
  const auto runner = sandbox_.runner_pid();
  ASSERT_TRUE(alive(runner));
  EXPECT_TRUE(sandbox_.finish().ok());
  EXPECT_TRUE(eventually([&] { return !alive(runner); }));  // process 1: the kernel ends the rest
}

/// Stands in for bubblewrap on a machine whose kernel does not permit it.
void refuse_containers(nlohmann::json& config) {
  const auto program = config["root_directory"].get<std::string>() + "-bwrap";
  std::ofstream(program)
      << "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n";
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  config["bubblewrap"] = program;
}

TEST(ReducedIsolation, WithoutBubblewrapItDoesNotStartAndSaysWhatToDo) {
  SandboxUnderTest refused(refuse_containers);
  EXPECT_EQ(WEXITSTATUS(refused.stop()), 69);
  EXPECT_THAT(refused.log(), HasSubstr("bubblewrap is not permitted here (bwrap: No permissions"));
  EXPECT_THAT(refused.log(), HasSubstr("allow user namespaces"));
  SandboxUnderTest absent([](nlohmann::json& config) { config["bubblewrap"] = "/nowhere/bwrap"; });
  EXPECT_EQ(WEXITSTATUS(absent.stop()), 69);
  EXPECT_THAT(absent.log(), HasSubstr("install the package bubblewrap"));
}

TEST(ReducedIsolation, WhereItIsAllowedTheMissingLayerIsNamedAndTheToolsWork) {
  SandboxUnderTest sandbox([](nlohmann::json& config) {
    refuse_containers(config);
    config["allow_reduced"] = true;
  });
  v1::HelloResponse facts;
  ASSERT_TRUE(sandbox.hello("abc-agentic-1-1", &facts).ok());
  EXPECT_EQ(facts.isolation(), "reduced");
  EXPECT_THAT(facts.missing(), testing::Contains("namespaces"));
  EXPECT_FALSE(sandbox.lay());  // laid, but not at the usual place
  const auto started = sandbox.bash("ls model.py; setsid sleep 1000 > /dev/null 2>&1 & echo $!");
  EXPECT_THAT(started.text(), HasSubstr("model.py\n"));
  EXPECT_THAT(sandbox.call("Read", {{"file_path", "/etc/passwd"}}).text(), HasSubstr("outside"));
  EXPECT_TRUE(sandbox.call("Read", {{"file_path", "/workspace/task/model.py"}}).ok());
  EXPECT_THAT(sandbox.bash("python3 -m utils.verification").text(),
              HasSubstr("nothing to compile"));
  const pid_t hidden = std::stoi(started.text().substr(started.text().find('\n') + 1));
  ASSERT_TRUE(alive(hidden));
  EXPECT_TRUE(sandbox.finish().ok());
  EXPECT_TRUE(eventually([&] { return !alive(hidden); }));
}

}  // namespace
}  // namespace swage::sandbox
