#include "gpu_pool/worker/app/evaluations.hpp"

#include <gmock/gmock.h>

#include "tests/support/fake_clock.hpp"
#include "tests/support/fake_judge_runner.hpp"
#include "tests/support/task_runner.hpp"

namespace swage::worker {
namespace {

using namespace std::chrono_literals;
using swage::test::FakeClock;
using swage::test::FakeJudgeRunner;
using swage::test::TaskRunner;
using ::testing::ElementsAre;

EvaluationCall call(lease::Token token, const std::string& request) {
  EvaluationCall made;
  made.request = lease::RequestId(request);
  made.token = token;
  made.client = lease::ClientId("client");
  made.work.request = request;
  made.work.run_uid = "run";
  made.valid_for = 12s;
  return made;
}

class EvaluationsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    runner.die();
    const auto drained = run.start(evaluations.drain(clock.now()));
    clock.advance(1h);
    ASSERT_TRUE(run.wait_until([&] { return drained->ended; }));
  }
  std::shared_ptr<OpenEvaluation> begin(lease::Token token, const std::string& request) {
    auto accepted = evaluations.accept(call(token, request));
    run.poll();
    return std::get<std::shared_ptr<OpenEvaluation>>(accepted);
  }
  std::shared_ptr<OpenEvaluation> judging(lease::Token token, const std::string& request) {
    auto open = begin(token, request);
    open->give_bundle("bundle");
    run.poll();
    return open;
  }
  Refusal refusal(const EvaluationCall& refused) {
    return std::get<Refused>(evaluations.accept(refused)).code;
  }
  static Refusal refusal(const OpenEvaluation& open) {
    return std::get<Refused>(*open.ending()).code;
  }
  void advance(Duration by) {
    clock.advance(by);
    run.poll();
  }

  TaskRunner run;
  FakeClock clock;
  FakeJudgeRunner runner{run.executor()};
  std::vector<std::string> fatal;
  int stale = 0;
  Evaluations evaluations{
      run.executor(),
      runner,
      clock,
      {[this](std::string what) { fatal.push_back(std::move(what)); }, [this] { ++stale; }}};
};

TEST_F(EvaluationsTest, AJudgeStartsWhenTheBundleHasArrivedAndTheDeviceIsClearedAfterIt) {
  const auto open = begin({1, 1}, "a");
  EXPECT_TRUE(open->wants_bundle());
  EXPECT_THAT(runner.log, ElementsAre());
  open->give_bundle("bundle");
  run.poll();
  EXPECT_EQ(runner.last.bundle, "bundle");
  runner.finish(judge::JudgeOutcome{"verdict", "hmac"});
  run.poll();
  EXPECT_EQ(std::get<judge::JudgeOutcome>(*open->ending()).verdict, "verdict");
  EXPECT_THAT(runner.log, ElementsAre("start a", "end a", "clear"));
}

TEST_F(EvaluationsTest, ProgressReachesEveryCallThatWaits) {
  const auto open = judging({1, 1}, "a");
  const auto again = begin({1, 1}, "a");
  EXPECT_EQ(open, again);
  StopSource gone;
  std::uint64_t told = 0, told_again = 0;
  const auto first = run.start(open->next(told, gone));
  const auto second = run.start(again->next(told_again, gone));
  runner.progress({"checks", 2, 5});
  run.poll();
  EXPECT_EQ(first->value()->done, 2U);
  EXPECT_EQ(second->value()->phase, "checks");
  const auto last = run.start(open->next(told, gone));
  EXPECT_FALSE(last->ended);
  runner.finish(judge::JudgeOutcome{"verdict", "hmac"});
  run.poll();
  EXPECT_FALSE(last->value().has_value());
}

TEST_F(EvaluationsTest, ANewerTokenRunsOnlyWhenTheOlderJudgeIsGoneAndTheDeviceClear) {
  runner.slow_to_die = true;
  const auto old = judging({1, 1}, "a");
  const auto newer = judging({1, 2}, "b");
  EXPECT_FALSE(old->ending().has_value());  // asked to die, and not dead
  EXPECT_THAT(runner.log, ElementsAre("start a"));
  runner.die();
  run.poll();
  EXPECT_EQ(refusal(*old), Refusal::stale);
  EXPECT_THAT(runner.log, ElementsAre("start a", "killed a", "clear", "start b"));
  runner.finish(judge::JudgeOutcome{"verdict", "hmac"});
  run.poll();
  EXPECT_TRUE(newer->ending().has_value());
}

TEST_F(EvaluationsTest, AStaleTokenAndASecondRequestAreRefused) {
  judging({1, 5}, "a");
  EXPECT_EQ(refusal(call({1, 5}, "b")), Refusal::duplicate_token);
  EXPECT_EQ(refusal(call({1, 4}, "c")), Refusal::stale);
  EXPECT_EQ(stale, 1);
  EXPECT_EQ(runner.running, "a");
}

TEST_F(EvaluationsTest, AJudgeIsKilledWhenItsLeaseRunsOutAndNotWhenItWasRenewed) {
  const auto open = judging({1, 1}, "a");
  advance(11s);
  open->extend(12s);
  advance(11s);
  EXPECT_EQ(runner.running, "a");
  advance(1s);
  EXPECT_EQ(refusal(*open), Refusal::lease_expired);
  EXPECT_THAT(runner.log, ElementsAre("start a", "killed a", "clear"));
}

TEST_F(EvaluationsTest, AJudgeIsKilledAfterItsModesLimitHoweverOftenTheLeaseIsRenewed) {
  const auto open = judging({1, 1}, "a");
  open->extend(1h);
  advance(60s - 1ns);
  EXPECT_EQ(runner.running, "a");
  advance(1ns);
  EXPECT_EQ(std::get<Lost>(*open->ending()).why, Lost::Why::time_limit);
}

TEST_F(EvaluationsTest, ATaskThatNoJudgeHasLearnedGetsTheTimeToLearnIt) {
  runner.known = false;
  const auto open = judging({1, 1}, "a");
  open->extend(1h);
  advance(60s + 240s - 1ns);
  EXPECT_EQ(runner.running, "a");
  advance(1ns);
  EXPECT_EQ(std::get<Lost>(*open->ending()).why, Lost::Why::time_limit);
}

TEST(TimeLimit, GrowsWithTheModeTheBudgetAndATaskToLearn) {
  judge::JudgeRequest work;
  for (const auto& [mode, limit] :
       {std::pair(judge::Mode::verify, 60s), std::pair(judge::Mode::profile, 120s),
        std::pair(judge::Mode::score, 180s)}) {
    work.mode = mode;
    EXPECT_EQ(judge::time_limit(work, true), limit);
    EXPECT_EQ(judge::time_limit(work, false), limit + 240s);
  }
  work.budget_s = 100;
  EXPECT_EQ(judge::time_limit(work, true), 280s);
}

TEST_F(EvaluationsTest, AnUploadThatNeverComesEndsWithTheLease) {
  const auto open = begin({1, 1}, "a");
  advance(12s);
  EXPECT_EQ(refusal(*open), Refusal::lease_expired);
  EXPECT_THAT(runner.log, ElementsAre());
}

TEST_F(EvaluationsTest, ABadBundleEndsTheEvaluationAndTheNextMayRun) {
  const auto open = begin({1, 1}, "a");
  open->refuse_bundle("it is bad");
  run.poll();
  EXPECT_EQ(refusal(*open), Refusal::bad_bundle);
  judging({1, 2}, "b");
  EXPECT_EQ(runner.running, "b");
}

TEST_F(EvaluationsTest, TheSameCallAfterTheVerdictGetsTheVerdict) {
  judging({1, 1}, "a");
  runner.finish(judge::JudgeOutcome{"verdict", "hmac"});
  run.poll();
  const auto again = begin({1, 1}, "a");
  EXPECT_FALSE(again->wants_bundle());
  EXPECT_EQ(std::get<judge::JudgeOutcome>(*again->ending()).verdict, "verdict");
  EXPECT_THAT(runner.log, ElementsAre("start a", "end a", "clear"));
}

TEST_F(EvaluationsTest, ClearKillsWaitsAndClearsAndRefusesThatTokenEverAfter) {
  runner.slow_to_die = true;
  const auto open = judging({1, 1}, "a");
  const auto cleared = run.start(evaluations.clear({1, 1}));
  EXPECT_FALSE(cleared->ended);
  runner.die();
  ASSERT_TRUE(run.wait_until([&] { return cleared->ended; }));
  EXPECT_TRUE(cleared->value());
  EXPECT_EQ(refusal(*open), Refusal::lease_expired);
  EXPECT_EQ(refusal(call({1, 1}, "z")), Refusal::duplicate_token);
  EXPECT_EQ(refusal(call({1, 0}, "y")), Refusal::stale);
}

TEST_F(EvaluationsTest, ADeviceThatCannotBeClearedIsReportedAndRunsNothingMore) {
  judging({1, 1}, "a");
  runner.clean = false;
  runner.finish(judge::JudgeOutcome{"verdict", "hmac"});
  run.poll();
  EXPECT_EQ(fatal.size(), 1U);
  const auto next = judging({1, 2}, "b");
  EXPECT_EQ(std::get<Lost>(*next->ending()).why, Lost::Why::not_ready);
  EXPECT_FALSE(runner.was("start b"));
}

TEST_F(EvaluationsTest, ALostJudgeIsNobodysFaultAndTheDeviceIsClearedAllTheSame) {
  const auto open = judging({1, 1}, "a");
  runner.finish(tl::unexpected(judge::JudgeErrc::judge_lost));
  run.poll();
  EXPECT_EQ(std::get<Lost>(*open->ending()).why, Lost::Why::judge_lost);
  EXPECT_TRUE(runner.was("clear"));
}

TEST_F(EvaluationsTest, CancelEndsOnlyTheRequestThatItNames) {
  const auto open = judging({1, 1}, "a");
  evaluations.cancel(lease::RequestId("b"));
  run.poll();
  EXPECT_EQ(runner.running, "a");
  evaluations.cancel(lease::RequestId("a"));
  run.poll();
  EXPECT_EQ(std::get<Lost>(*open->ending()).why, Lost::Why::cancelled);
}

TEST_F(EvaluationsTest, DrainLetsTheEvaluationFinishUntilTheDeadlineAndLetsNobodyIn) {
  const auto open = judging({1, 1}, "a");
  const auto drained = run.start(evaluations.drain(clock.now() + 5s));
  EXPECT_EQ(refusal(call({1, 2}, "b")), Refusal::draining);
  advance(4s);
  EXPECT_EQ(runner.running, "a");
  advance(1s);
  ASSERT_TRUE(run.wait_until([&] { return drained->ended; }));
  EXPECT_EQ(refusal(*open), Refusal::draining);
}

}  // namespace
}  // namespace swage::worker
