#include "cli/core/status_text.hpp"

#include <gmock/gmock.h>

namespace swage::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::int64_t kNoon = 1'767'268'800;  // 2026-01-01T12:00:00Z

json run() {
  return {{"name", "quickstart"},
          {"uid", "abc"},
          {"spec", {{"model", "scratch:tiny"}, {"seed", 1}, {"pool", "swage-pool.local"}}},
          {"status",
           {{"phase", "Running"},
            {"stage", "agentic"},
            {"startTime", "2026-01-01T11:58:20Z"},
            {"completionTime", nullptr},
            {"rewardMean", "2.1"},
            {"rewardAfterRft", "1.6"},
            {"rewardFinal", nullptr},
            {"rollouts", {{"completed", 97}, {"running", 4}, {"reissued", 0}}},
            {"sandboxes", {{"warm", 3}, {"claimed", 4}}},
            {"conditions",
             {{{"type", "Accepted"}, {"status", "True"}, {"reason", "Valid"}, {"message", ""}},
              {{"type", "Complete"}, {"status", "False"}, {"reason", "Running"}}}}}},
          {"pods",
           {{{"name", "quickstart-policy-0"},
             {"phase", "Ready"},
             {"pid", 123},
             {"http", "127.0.0.1:40123"},
             {"restarts", 1}}}}};
}

TEST(RunSeconds, CountFromTheStartToNowOrToTheEnd) {
  EXPECT_EQ(seconds_since("2026-01-01T11:59:00Z", kNoon), 60);
  EXPECT_EQ(run_seconds(run(), kNoon), 100);
  auto ended = run();
  ended["status"]["completionTime"] = "2026-01-01T11:59:20Z";
  EXPECT_EQ(run_seconds(ended, kNoon), 60);
}

TEST(RunSeconds, OfNoTimeOrAFutureOneAreZero) {
  EXPECT_EQ(seconds_since("soon", kNoon), 0);
  EXPECT_EQ(seconds_since("2026-01-01T12:00:01Z", kNoon), 0);
  EXPECT_EQ(run_seconds(json::object(), kNoon), 0);
}

TEST(RunText, IsReadableAndHoldsStateRewardsAndProcesses) {
  const auto text = run_text(run(), 100);
  EXPECT_THAT(text, StartsWith("run quickstart: Running\n"));
  for (const auto* part :
       {"1:40  agentic", "2.1 now, 1.6 after RFT, - at the end", "97 done, 4 running, 0 re-issued",
        "4 in use, 3 warm", "quickstart-policy-0", "127.0.0.1:40123"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("{")));
  EXPECT_THAT(text, Not(HasSubstr("!")));
}

TEST(RunText, NamesEveryConditionThatIsTrouble) {
  auto bad = run();
  bad["status"]["conditions"] = {
      {{"type", "PoolAvailable"}, {"status", "False"}, {"reason", "Unreachable"}, {"message", ""}},
      {{"type", "LowEntropy"}, {"status", "True"}, {"reason", "Low"}, {"message", "0.02"}},
      {{"type", "Complete"}, {"status", "True"}, {"reason", "Failed"}, {"message", "no disk"}}};
  const auto text = run_text(bad, 0);
  EXPECT_THAT(text, HasSubstr("! PoolAvailable is False (Unreachable)\n"));
  EXPECT_THAT(text, HasSubstr("! LowEntropy is True (Low): 0.02\n"));
  EXPECT_THAT(text, HasSubstr("! Complete is True (Failed): no disk\n"));
}

}  // namespace
}  // namespace swage::cli
