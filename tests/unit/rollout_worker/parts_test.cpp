#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "rollout_worker/core/corpus.hpp"
#include "rollout_worker/core/observation.hpp"
#include "rollout_worker/core/repetition.hpp"
#include "rollout_worker/core/scoring.hpp"
#include "rollout_worker/core/teacher_script.hpp"
#include "rollout_worker/core/tool_call_parser.hpp"
#include "rollout_worker/core/transcript.hpp"
#include "rollout_worker/core/work_clock.hpp"
#include "tests/unit/rollout_worker/loop_driver.hpp"

namespace swage::rollout_worker::test {
namespace {

using testing::HasSubstr;

TEST(Observation, NumbersDoNotMakeADifference) {
  EXPECT_EQ(mask_numbers("took 1.25s, 3.4.5. v2"), "took #s, #. v#");
  const std::vector<std::string> a{"[TIME] 3.21s"}, b{"[TIME] 14.2s"}, c{"[TIME] s"};
  EXPECT_EQ(observation_digest(a), observation_digest(b));
  EXPECT_NE(observation_digest(a), observation_digest(c));
  const std::vector<std::string> joined{"ab"}, split{"a", "b"};
  EXPECT_NE(observation_digest(joined), observation_digest(split));
}

TEST(Observation, HeadAndTailSurviveTheCap) {
  const ByteRenderer renderer;
  const std::string text = "begin" + std::string(1000, '.') + "end";
  const auto cut = capped(renderer, text, 100);
  EXPECT_LE(cut.size(), 102U);
  EXPECT_THAT(cut, testing::StartsWith("begin"));
  EXPECT_THAT(cut, testing::EndsWith("end"));
  EXPECT_THAT(cut, HasSubstr("tokens left out"));
  EXPECT_EQ(capped(renderer, text, 1008), text);
  EXPECT_NE(capped(renderer, text, 1007), text);
}

TEST(Transcript, KeepsSpansAndRefusesFallingVersionsAndUnequalArrays) {
  Transcript transcript;
  const std::vector<std::uint32_t> context{1, 2};
  transcript.append_context(context);
  EXPECT_TRUE(transcript.append_sampled({{3, 4, 5}, {-1, -2, -3}, {{1, 4}, {2, 5}}, {}}));
  EXPECT_TRUE(transcript.append_sampled({{6}, {-1}, {{1, 5}}, {}}));
  EXPECT_FALSE(transcript.append_sampled({{7}, {-1}, {{1, 4}}, {}}));
  EXPECT_FALSE(transcript.append_sampled({{7}, {-1, -1}, {{1, 5}}, {}}));
  EXPECT_FALSE(transcript.append_sampled({{7}, {-1}, {{2, 5}}, {}}));
  Trajectory trajectory;
  transcript.store_in(trajectory);
  EXPECT_EQ(trajectory.token_ids.size(), 6U);
  ASSERT_EQ(trajectory.version_spans.size(), 2U);
  EXPECT_EQ(trajectory.version_spans[1].begin, 3U);
  EXPECT_EQ(trajectory.version_spans[1].end, 6U);
}

TEST(Scoring, FollowsTheVerdictTable) {
  EXPECT_EQ(reward_of(verdict(EvaluationMode::score, "ok", 3.0), false), 3.0);
  EXPECT_EQ(reward_of(verdict(EvaluationMode::profile, "ok", 3.0), false), std::nullopt);
  EXPECT_EQ(reward_of(verdict(EvaluationMode::score, "infra_error", -1.0), false), std::nullopt);
  auto measured = verdict(EvaluationMode::score, "ok", 2.0);
  measured.to_compile = MeasuredRatio{0.5, 0.4, 0.6};
  EXPECT_EQ(reward_of(measured, true), 2.0);
  measured.code = "mismatch";
  EXPECT_EQ(reward_of(measured, true), -1.0);
  EXPECT_TRUE(judge_again("timing_unstable", 1));
  EXPECT_FALSE(judge_again("timing_unstable", 2));
  EXPECT_TRUE(judge_again("infra_error", 2));
  EXPECT_FALSE(judge_again("infra_error", 3));
  EXPECT_FALSE(judge_again("mismatch", 1));
}

TEST(WorkClock, OverlappingPausesCountOnce) {
  const TimePoint start{std::chrono::hours(1)};
  WorkClock clock(start, std::chrono::seconds(100));
  clock.pause(start + std::chrono::seconds(10));
  clock.pause(start + std::chrono::seconds(20));
  clock.resume(start + std::chrono::seconds(30));
  EXPECT_EQ(clock.deadline(), std::nullopt);
  clock.resume(start + std::chrono::seconds(50));
  EXPECT_EQ(clock.deadline(), start + std::chrono::seconds(140));
}

TEST(Repetition, ATurnIsRedundantOnlyWhileTheWorkIsUnchanged) {
  const auto turn = [](const char* arguments, const char* observation, const char* work) {
    TurnRecord record;
    record.calls = {{"Bash", arguments, true}};
    record.observation_digest = observation;
    record.work_digest = work;
    return record;
  };
  const std::vector<TurnRecord> repeated{turn("a", "o", "w"), turn("b", "p", "w"),
                                         turn("a", "o", "w"), turn("a", "o", "w")};
  EXPECT_DOUBLE_EQ(redundant_share(repeated), 0.5);
  const std::vector<TurnRecord> changed{turn("a", "o", "w"), turn("b", "p", "v"),
                                        turn("a", "o", "w")};
  EXPECT_DOUBLE_EQ(redundant_share(changed), 0);
  EXPECT_DOUBLE_EQ(redundant_share({}), 0);
}

TeacherDeck deck() {
  return {"run", "class ModelNew:\n    pass\n", "// binding\n", {{"slow", "int a = 1;\n\"x\"\n"}}};
}

TEST(TeacherScript, EveryMessageButTheLastHoldsWellFormedCalls) {
  const auto script = teacher_script(deck(), 0);
  ASSERT_EQ(script.size(), 6U);
  std::size_t calls = 0;
  for (const auto& message : script) {
    HermesParser parser;
    parser.feed(message);
    for (const auto& call : parser.finish()) {
      ++calls;
      EXPECT_TRUE(call.well_formed()) << call.error;
    }
  }
  EXPECT_EQ(calls, 7U);
  HermesParser parser;
  parser.feed(script[1]);
  const auto writes = parser.finish();
  ASSERT_EQ(writes.size(), 3U);
  const auto kernel = nlohmann::json::parse(writes[2].arguments);
  EXPECT_EQ(kernel["file_path"], "/workspace/task/kernels/run.cpp");
  EXPECT_EQ(kernel["content"], "int a = 1;\n\"x\"\n");
}

TEST(TeacherCorpus, HoldsEveryMessageAndItsObservations) {
  const auto corpus = teacher_corpus("softmax", "import torch\n", deck());
  for (const auto& message : teacher_script(deck(), 0)) EXPECT_THAT(corpus, HasSubstr(message));
  EXPECT_THAT(corpus, HasSubstr("     1\timport torch\n"));
  EXPECT_THAT(corpus, HasSubstr("Wrote /workspace/task/kernels/run.cpp (2 lines)."));
}

}  // namespace
}  // namespace swage::rollout_worker::test
