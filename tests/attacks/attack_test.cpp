// Every fixture of tests/attacks three ways (design attacks.md, section 1): with its guards off the
// exploit works, with all guards on it gets its code, and its honest twin passes. Each guard of a
// list must also do alone. One program, for all cases share a zygote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <set>

#include "common/base/check.hpp"
#include "common/base/files.hpp"
#include "tests/attacks/fixture.hpp"
#include "tests/attacks/guard_names.hpp"
#include "tests/integration/judge/judge_bench.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::attacks {
namespace {

using swage::testing::JudgeBench;
using swage::testing::source_file;
using test::TempDirectory;

/// The one bench, made by the first case that needs it.
std::unique_ptr<JudgeBench> shared;

std::string library(const std::string& name) {
  const auto content = read_file(std::string(SWAGE_ATTACK_LIBRARIES "/") + name + ".so");
  check(content.has_value(), "a library of the suite is there: " + name);
  return *content;
}

std::string code_of(const v1::Verdict& verdict) {
  std::string name = v1::VerdictCode_Name(verdict.code()).substr(13);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

/// `precision` is a setting of the request, not a switch of the judge.
std::string joined(const std::vector<std::string>& guards) {
  std::string out;
  for (const auto& guard : guards)
    if (guard != "precision") out += (out.empty() ? "" : ",") + guard;
  return out;
}

class Attack : public ::testing::Test {
 public:
  explicit Attack(Fixture fixture) : fixture_(std::move(fixture)) {}
  static void TearDownTestSuite() { shared.reset(); }

  void TestBody() override {
    if (!shared) shared = std::make_unique<JudgeBench>();
    const auto& guards = fixture_.guards;
    if (std::ranges::find(guards, "process") != guards.end())
      in_one_process();
    else
      without_guards();
    const auto on = run({}, fixture_.task, fixture_.model_new, fixture_.library);
    expect(on, fixture_.on, "with all guards on");
    EXPECT_THAT(on.detail(), ::testing::HasSubstr(fixture_.detail));
    EXPECT_THAT(on.log(), ::testing::HasSubstr(fixture_.log));
    if (fixture_.mode == "score") {
      EXPECT_EQ(on.tier(), fixture_.on_tier) << on.timing().DebugString();
    }
    EXPECT_TRUE(shared->clear()) << "something of the attack is left";
    const auto twin = run({}, fixture_.twin_task, fixture_.twin, "cuda_extension");
    expect(twin, {"ok"}, "the honest twin");
    EXPECT_EQ(twin.policy_size(), 0);
    if (fixture_.mode == "score") {
      EXPECT_EQ(twin.tier(), 3U) << twin.timing().DebugString();
    }
  }

 private:
  /// The exploit must work without its guards, and not when one of several is on alone.
  void without_guards() {
    const auto off = run(fixture_.guards, fixture_.task, fixture_.model_new, fixture_.library);
    expect(off, fixture_.off, "with the guards off");
    if (fixture_.off_tier > 0) {
      EXPECT_EQ(off.tier(), fixture_.off_tier) << off.timing().DebugString();
    }
    if (!joined(fixture_.guards).empty()) {
      EXPECT_THAT(off.trust().missing(), ::testing::Contains("testing"));
    }
    for (const auto& guard : fixture_.guards) {
      if (fixture_.guards.size() == 1) break;
      auto others = fixture_.guards;
      std::erase(others, guard);
      const auto alone = run(others, fixture_.task, fixture_.model_new, fixture_.library);
      EXPECT_NE(code_of(alone), "ok") << guard << " alone";
    }
  }

  /// The exploit must fool an evaluation that is one process.
  void in_one_process() const {
    const TempDirectory folder;
    const auto solution = folder.path() / "model_new.py";
    const auto output = folder.path() / "output";
    ASSERT_TRUE(write_file_durably(solution, fixture_.model_new));
    if (fixture_.library != "cuda_extension")
      ASSERT_TRUE(
          write_file_durably(folder.path() / "cuda_extension.so", library(fixture_.library)));
    const std::string task = SWAGE_ATTACK_SOURCE "/tasks/" + fixture_.task + ".py";
    const std::string command =
        std::string(SWAGE_ATTACK_PYTHON " " SWAGE_ATTACK_SOURCE "/legacy_runner.py ") + task + " " +
        folder.path().string() + " " SWAGE_ATTACK_LIBRARIES " > " + output.string() + " 2>&1";
    const int status = std::system(command.c_str());
    const auto said = read_file(output).value_or("");
    EXPECT_EQ(status, 0) << said;
    EXPECT_THAT(said, ::testing::HasSubstr("[PASS]"));
    if (fixture_.off_fast) {
      EXPECT_THAT(said, ::testing::HasSubstr("[FAST]"));
    }
  }

  v1::Verdict run(const std::vector<std::string>& off, const std::string& task,
                  const std::string& model_new, const std::string& library_name) {
    shared->switch_off(joined(off));
    const bool lenient = std::ranges::find(off, "precision") != off.end();
    const auto mode = fixture_.mode == "score" ? judge::Mode::score : judge::Mode::verify;
    auto verdict = shared->judge(mode, source_file("tests/attacks/tasks/" + task + ".py"),
                                 {{"model_new.py", model_new}}, library(library_name), true,
                                 lenient ? "official" : fixture_.precision);
    shared->switch_off("");
    return verdict;
  }

  static void expect(const v1::Verdict& verdict, const Expected& expected, const char* when) {
    EXPECT_EQ(code_of(verdict), expected.code) << when << ": " << verdict.detail() << "\n"
                                               << verdict.log();
    if (!expected.rule.empty() && verdict.policy_size() > 0) {
      EXPECT_EQ(verdict.policy(0).rule(), expected.rule) << when;
    }
  }

  Fixture fixture_;
};

const std::vector<Fixture>& fixtures() {
  static const std::vector<Fixture> kAll = [] {
    auto read = read_fixtures(SWAGE_ATTACK_FIXTURES);
    check(read.has_value(), read ? "" : read.error());
    return std::move(*read);
  }();
  return kAll;
}

TEST(Suite, EveryGuardThatCanBeSwitchedOffIsSwitchedOffBySomeFixture) {
  std::set<std::string> used;
  for (const auto& fixture : fixtures()) used.insert(fixture.guards.begin(), fixture.guards.end());
  for (const auto& name : guard_names()) EXPECT_TRUE(used.contains(name)) << name;
  for (const auto& name : used)
    EXPECT_TRUE(name == "precision" || name == "process" || guards_without(name))
        << name << " is no guard";
}

TEST(Suite, TheReleasedJudgeKnowsNoSwitch) {
  const auto released = read_file(SWAGE_ATTACK_JUDGE);
  const auto testing = read_file(SWAGE_ATTACK_JUDGE_TESTING);
  ASSERT_TRUE(released && testing);
  for (const char* text : {"guard-off", "guards_without"}) {
    EXPECT_EQ(released->find(text), std::string::npos) << text;
    EXPECT_NE(testing->find(text), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace swage::attacks

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  for (const auto& fixture : swage::attacks::fixtures())
    ::testing::RegisterTest(
        "Attack", fixture.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [fixture]() -> swage::attacks::Attack* { return new swage::attacks::Attack(fixture); });
  return RUN_ALL_TESTS();
}
