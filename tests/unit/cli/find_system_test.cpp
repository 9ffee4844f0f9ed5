#include "cli/app/find_system.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/base/files.hpp"
#include "tests/support/temp_directory.hpp"
#include "tests/unit/cli/live_controller.hpp"

namespace swage::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// Sets one variable of the environment, and puts it back. nullptr: unset.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    put(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { put(old_ ? old_->c_str() : nullptr); }

 private:
  void put(const char* value) { value != nullptr ? ::setenv(name_, value, 1) : ::unsetenv(name_); }
  const char* name_;
  std::optional<std::string> old_;
};

class FindSystem : public ::testing::Test {
 protected:
  fs::path runs() const { return home_.path() / "swage" / "runs"; }
  /// Leaves OUT/run.json, written `age` ago, of a controller at http://127.0.0.1:`port`.
  void leave_run(const fs::path& out, int port, std::chrono::minutes age) const {
    fs::create_directories(out / "secrets");
    const nlohmann::json run{{"run", "short"},
                             {"pid", controller_.pid()},
                             {"state", "running"},
                             {"http", "127.0.0.1:" + std::to_string(port)}};
    ASSERT_TRUE(write_file_durably(out / "run.json", run.dump()));
    ASSERT_TRUE(write_file_durably(out / "secrets" / "token", "of " + std::to_string(port)));
    fs::last_write_time(out / "run.json", fs::file_time_type::clock::now() - age);
  }
  static std::string port_of(const Where& where) {
    const auto found = find_server(where);
    return found ? found->port : found.error();
  }

  test::TempDirectory home_;
  LiveController controller_;
  Variable state_{"XDG_STATE_HOME", home_.path().c_str()};
  Variable server_{"SWAGE_SERVER", nullptr};
};

TEST_F(FindSystem, RunsLieBelowXdgStateHomeElseBelowHome) {
  EXPECT_EQ(where_from("", "").state, runs());
  const Variable unset("XDG_STATE_HOME", nullptr);
  const Variable home("HOME", "/home/somebody");
  EXPECT_EQ(where_from("", "").state, "/home/somebody/.local/state/swage/runs");
}

TEST_F(FindSystem, TheNewestRunIsTheOneWhoseRunJsonWasWrittenLast) {
  using namespace std::chrono_literals;
  leave_run(runs() / "b-older", 2, 20min);
  leave_run(runs() / "a-newest", 1, 10min);
  leave_run(runs() / "c-oldest", 3, 30min);
  fs::create_directories(runs() / "d-of-no-run");  // newer, but nothing ran there
  ASSERT_TRUE(write_file_durably(runs() / "quickstart.controller.log", "a file\n"));
  EXPECT_EQ(*find_out(where_from("", "")), runs() / "a-newest");
  fs::last_write_time(runs() / "c-oldest" / "run.json", fs::file_time_type::clock::now());
  EXPECT_EQ(*find_out(where_from("", "")), runs() / "c-oldest");
}

TEST_F(FindSystem, WithoutAnyRunTheErrorSaysWhereItLookedAndWhatToName) {
  const auto found = find_out(where_from("", ""));
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error(), HasSubstr("no run found under " + runs().string()));
  EXPECT_THAT(found.error(), HasSubstr("--out DIR"));
  EXPECT_EQ(find_server(where_from("", "")).error(), found.error());
}

/// wire.md, section 3: --server, SWAGE_SERVER, --out's run.json, the newest run.
TEST_F(FindSystem, EachWayToNameASystemGoesBeforeTheNext) {
  using namespace std::chrono_literals;
  leave_run(runs() / "newest", 4, 1min);
  const auto named = home_.path() / "named";
  leave_run(named, 3, 60min);
  EXPECT_EQ(port_of(where_from("", "")), "4");
  EXPECT_EQ(port_of(where_from("", named.string())), "3");
  const Variable server("SWAGE_SERVER", "http://127.0.0.1:2");
  EXPECT_EQ(port_of(where_from("", named.string())), "2");
  EXPECT_EQ(port_of(where_from("http://127.0.0.1:1", named.string())), "1");
}

TEST_F(FindSystem, ARunsOwnTokenIsUsedForItAndTheEnvironmentsForANamedServer) {
  using namespace std::chrono_literals;
  leave_run(runs() / "newest", 4, 1min);
  const Variable token("SWAGE_TOKEN", "of the environment");
  EXPECT_EQ(find_server(where_from("", ""))->token, "of 4");
  EXPECT_EQ(find_server(where_from("http://127.0.0.1:1", ""))->token, "of the environment");
}

TEST_F(FindSystem, AnAbsentOutIsNamedAndTheNewestRunIsNotTakenInstead) {
  leave_run(runs() / "newest", 4, std::chrono::minutes(1));
  const auto absent = home_.path() / "absent";
  const auto where = where_from("", absent.string());
  EXPECT_EQ(*find_out(where), absent);
  EXPECT_THAT(port_of(where), HasSubstr(absent.string() + " is not a run's directory"));
}

TEST_F(FindSystem, ARunWhoseControllerHasEndedIsNotAServer) {
  const auto out = runs() / "dead";
  fs::create_directories(out);
  const nlohmann::json run{{"pid", 0}, {"state", "running"}, {"http", "127.0.0.1:4"}};
  ASSERT_TRUE(write_file_durably(out / "run.json", run.dump()));
  EXPECT_THAT(port_of(where_from("", "")), HasSubstr("swage run --resume --out " + out.string()));
}

TEST_F(FindSystem, TwoStartsInOneSecondGetTwoDirectories) {
  const auto where = where_from("", "");
  constexpr std::time_t kNow = 1764633600;  // 2025-12-02 00:00:00 UTC
  const auto first = new_out(where, "examples/quickstart.yaml", {kNow, 17});
  EXPECT_EQ(first, runs() / "quickstart-20251202-000000-17");
  EXPECT_NE(first, new_out(where, "examples/quickstart.yaml", {kNow, 18}));
  EXPECT_NE(first, new_out(where, "examples/quickstart.yaml", {kNow + 1, 17}));
}

}  // namespace
}  // namespace swage::cli
