#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "common/asio/process.hpp"
#include "common/base/files.hpp"
#include "tests/support/task_runner.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::controller {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kRun = R"(apiVersion: swage.dev/v1alpha1
kind: TrainingRun
metadata: {name: small}
spec:
  preset: OneMachine
  deviceKind: cpu
  model: {source: "scratch:tiny"}
  tasks: [{set: builtin-cpu}]
)";

/// The program itself with bad input: a clear message, an exit code, nothing left behind.
class ProgramTest : public ::testing::Test {
 protected:
  int run(const std::string& yaml, std::map<std::string, std::string> env = {},
          std::vector<std::string> more = {}) {
    const auto file = directory_.path() / "run.yaml";
    EXPECT_TRUE(write_file_durably(file, yaml));
    const char* bin = std::getenv("SWAGE_BIN_DIR");
    EXPECT_NE(bin, nullptr);
    ProcessSpec spec;
    spec.argv = {std::string(bin) + "/swage-controller", "--run", file.string(), "--out",
                 out().string()};
    spec.argv.insert(spec.argv.end(), more.begin(), more.end());
    spec.env = current_environment();
    for (auto& [key, value] : env) spec.env[key] = value;
    spec.log = directory_.path() / "log";
    fs::remove(*spec.log);
    auto process = Process::start(run_.executor(), spec);
    EXPECT_TRUE(process);
    const int status = run_((*process)->wait());
    said_ = read_file(*spec.log).value_or("");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  fs::path out() const { return directory_.path() / "out"; }

  test::TempDirectory directory_;
  test::TaskRunner run_;
  std::string said_;
};

TEST_F(ProgramTest, AnUnknownFieldIsNamedByFileLineAndRemedyAndNothingIsMade) {
  EXPECT_EQ(run(kRun + "  rolouts: {concurrency: 4}\n"), 64);
  EXPECT_THAT(said_, HasSubstr("run.yaml:9: spec.rolouts is not a field here; did you mean "
                               "`rollouts`?"));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(ProgramTest, AMissingRedisIsSaidBeforeAnythingIsMade) {
  EXPECT_EQ(run(kRun, {{"PATH", directory_.path().string()}}), 69);
  EXPECT_THAT(said_, HasSubstr("redis-server is not on PATH; install it"));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(ProgramTest, BadArgumentsAreRefused) {
  EXPECT_EQ(run(kRun, {}, {"--evaluation-rollouts", "many"}), 64);
  EXPECT_EQ(run(kRun, {}, {"--unknown"}), 64);
  EXPECT_EQ(run(kRun, {}, {"--help"}), 0);
  EXPECT_THAT(said_, HasSubstr("Exit codes"));
}

TEST_F(ProgramTest, AGpuRunIsRefusedWithTheRemedy) {
  auto yaml = kRun;
  yaml.replace(yaml.find("cpu"), 3, "cuda");
  EXPECT_EQ(run(yaml), 69);
  EXPECT_THAT(said_, HasSubstr("set deviceKind: cpu"));
}

}  // namespace
}  // namespace swage::controller
