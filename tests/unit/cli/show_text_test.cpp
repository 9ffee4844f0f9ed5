#include "cli/core/show_text.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "cli/core/verdict_text.hpp"

namespace swage::cli {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

json verdict() {
  return {{"code", "ok"},
          {"mode", "score"},
          {"tier", 3},
          {"reward", 3},
          {"timing",
           {{"eager", {{"calibrated_us", 2000.0}, {"cv", 0.01}}},
            {"compile", {{"calibrated_us", 1500.0}, {"cv", 0.012}}},
            {"candidate", {{"calibrated_us", 900.5}, {"cv", 0.02}}},
            {"q_eager", {{"median", 0.45}, {"lo", 0.44}, {"hi", 0.46}}},
            {"q_compile", {{"median", 0.6}, {"lo", 0.59}, {"hi", 0.61}}}}},
          {"checks", {{{"passed", true}}, {{"passed", true}}, {{"passed", false}}}},
          {"policy", {{{"rule", "no_torch"}, {"detail", "torch::mm in run.cpp"}}}},
          {"trust", {{"level", "reduced"}, {"missing", {"users", "cgroups"}}}}};
}

TEST(VerdictText, HoldsOutcomeArmsRatiosChecksFindingsAndTrust) {
  const auto text = verdict_text(verdict());
  EXPECT_THAT(text, StartsWith("ok (score), tier 3, reward 3\n"));
  for (const auto* part :
       {"candidate         900.5 us   cv 0.020", "candidate / eager    0.450   [0.440, 0.460]",
        "candidate / compile  0.600", "checks 2 of 3 passed",
        "policy no_torch: torch::mm in run.cpp", "trust reduced, missing: users cgroups"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(VerdictText, AFailureIsItsCodeAndDetailOnly) {
  EXPECT_EQ(verdict_text({{"code", "compile_error"}, {"mode", "verify"}, {"detail", "run.cpp:5"}}),
            "compile_error (verify)\nrun.cpp:5\n");
}

json trajectory() {
  return {{"rollout_id", "r-1"},
          {"attempt", 2},
          {"task_id", "rowsum"},
          {"stage", "agentic"},
          {"actor", "policy"},
          {"tokens", 310},
          {"sampled_tokens", 150},
          {"stop_reason", "finished"},
          {"infrastructure_failure", ""},
          {"prompt", "Write a kernel."},
          {"version_spans", {{{"begin", 0}, {"end", 310}, {"weight_version", 7}}}},
          {"turns",
           {{{"policy", R"({"command": "cat model.py\nls"})"},
             {"policy_tokens", 20},
             {"calls",
              {{{"name", "Bash"}, {"schema_valid", true}},
               {{"name", "Reed"}, {"schema_valid", false}}}},
             {"observation", "class Model"},
             {"observation_tokens", 3},
             {"wall_ms", 12}},
            {{"policy", "Done."}, {"policy_tokens", 2}, {"observation_tokens", 0}}}},
          {"verdicts", {verdict()}},
          {"final_verdict", 0},
          {"rewards", {{{"value", 3.0}, {"position", 309}}}}};
}

TEST(TrajectoryText, ReadsInOrderFromPromptToReward) {
  const auto text = trajectory_text(trajectory());
  std::size_t at = 0;
  for (const auto* part :
       {"r-1 attempt 2",
        "task rowsum, agentic, policy, 310 tokens (150 sampled), ended by finished",
        "by weight version 7", "── prompt\n  Write a kernel.", "── turn 1 · policy, 20 tokens",
        "cat model.py\n  ls", "→ Bash\n", "→ Reed (does not agree with the tool's schema)",
        "·· observation, 12 ms\n  │ class Model", "── turn 2", "── verdict 1 (decides the reward)",
        "reward 3.0 at token 309"}) {
    const auto found = text.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << "\nin\n" << text;
    at = found;
  }
  EXPECT_THAT(text, Not(HasSubstr("infrastructure failure")));
}

TEST(TrajectoryText, ALostAttemptSaysWhy) {
  auto lost = trajectory();
  lost["infrastructure_failure"] = "sandbox lost";
  EXPECT_THAT(trajectory_text(lost), HasSubstr("infrastructure failure: sandbox lost"));
}

TEST(RolloutListText, HasOneLineForEach) {
  const json lines{{{"rollout_id", "r-1"}, {"task_id", "rowsum"}, {"reward", 2.0}},
                   {{"rollout_id", "r-2"}, {"infrastructure", true}}};
  const auto text = rollout_list_text({{"items", lines}});
  EXPECT_EQ(text, rollout_list_text(lines));
  EXPECT_THAT(text, AllOf(StartsWith("ROLLOUT"), HasSubstr("\nr-1 "), HasSubstr("lost, kept")));
}

TEST(RolloutListText, OfNoneIsTheHeadingOnly) {
  const auto text = rollout_list_text({{"items", json::array()}});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

}  // namespace
}  // namespace swage::cli
