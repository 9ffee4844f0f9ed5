#include <gmock/gmock.h>

#include "tests/unit/rollout_worker/loop_driver.hpp"

namespace swage::rollout_worker::test {
namespace {

constexpr const char* kProfile =
    R"(<tool_call>{"name":"Bash","arguments":{"command":"python3 -m utils.profiling"}}</tool_call>)";

void one_machine(Assignment& a) { a.one_machine = true; }

/// A profiling command that scores the work with `digest` and returns with `digest_after`.
void profile(LoopDriver& loop, const std::string& digest, double reward,
             const std::string& digest_after) {
  loop.say(kProfile);
  const auto call = loop.take_order<ToolCall>();
  loop.on(EvaluationAsk{call.id, EvaluationMode::score, work(digest)});
  loop.on(event::Judged{loop.take<action::Evaluate>().number,
                        verdict(EvaluationMode::score, "ok", reward)});
  EXPECT_EQ(loop.take_order<AskAnswer>().judgement->reward, reward);
  loop.result(call.id, "times", digest_after);
}

TEST(AgentEnding, OnOneMachineTheProfilesScoreStandsWhileTheWorkIsUnchanged) {
  LoopDriver loop(one_machine);
  profile(loop, "digest-b", 2.0, "digest-b");
  loop.say("Done.");
  EXPECT_FALSE(loop.has_order<PackOrder>());
  const auto trajectory = loop.take<action::Deliver>().trajectory;
  EXPECT_EQ(trajectory->reward, 2.0);
  EXPECT_EQ(trajectory->final_verdict, 0U);
  EXPECT_EQ(trajectory->verdicts.size(), 1U);
}

TEST(AgentEnding, OnOneMachineChangedWorkIsScoredAgain) {
  LoopDriver loop(one_machine);
  profile(loop, "digest-b", 2.0, "digest-c");
  loop.say("Done.");
  loop.score_final(verdict(EvaluationMode::score, "mismatch", -1.0));
  const auto trajectory = loop.take<action::Deliver>().trajectory;
  EXPECT_EQ(trajectory->reward, -1.0);
  EXPECT_EQ(trajectory->final_verdict, 1U);
}

TEST(AgentEnding, AskingForTheScoreOfUnchangedWorkGivesTheSameScore) {
  LoopDriver loop(one_machine);
  profile(loop, "digest-b", 1.0, "digest-b");
  loop.say(kProfile);
  const auto call = loop.take_order<ToolCall>();
  loop.on(EvaluationAsk{77, EvaluationMode::score, work("digest-b")});
  EXPECT_FALSE(loop.has<action::Evaluate>());
  EXPECT_EQ(loop.take_order<AskAnswer>().judgement->reward, 1.0);
  loop.on(EvaluationAsk{78, EvaluationMode::score, work("digest-c")});
  EXPECT_TRUE(loop.has<action::Evaluate>());
  loop.result(call.id, "");
}

TEST(AgentEnding, OnOneMachineAVerificationIsAScoreThatTheProfileFindsDone) {
  LoopDriver loop(one_machine);
  loop.say(kProfile);
  const auto call = loop.take_order<ToolCall>();
  loop.on(EvaluationAsk{1, EvaluationMode::verify, work("digest-b")});
  const auto evaluate = loop.take<action::Evaluate>();
  EXPECT_EQ(evaluate.mode, EvaluationMode::score);
  loop.on(event::Judged{evaluate.number, verdict(EvaluationMode::score, "ok", 2.0)});
  EXPECT_EQ(loop.take_order<AskAnswer>().id, 1U);
  loop.on(EvaluationAsk{2, EvaluationMode::score, work("digest-b")});
  EXPECT_FALSE(loop.has<action::Evaluate>());
  EXPECT_EQ(loop.take_order<AskAnswer>().judgement->reward, 2.0);
  loop.result(call.id, "", "digest-b");
  loop.say("Done.");
  EXPECT_EQ(loop.take<action::Deliver>().trajectory->verdicts.size(), 1U);
}

TEST(AgentEnding, InAClusterAVerificationIsNoScore) {
  LoopDriver loop;
  loop.say(kProfile);
  loop.on(EvaluationAsk{1, EvaluationMode::verify, work("digest-b")});
  EXPECT_EQ(loop.take<action::Evaluate>().mode, EvaluationMode::verify);
}

TEST(AgentEnding, InAClusterASandboxMayNotAskForAScore) {
  LoopDriver loop;
  loop.say(kProfile);
  loop.on(EvaluationAsk{3, EvaluationMode::score, work("digest-b")});
  EXPECT_FALSE(loop.has<action::Evaluate>());
  EXPECT_FALSE(loop.take_order<AskAnswer>().judgement.has_value());
  loop.on(EvaluationAsk{4, EvaluationMode::profile, work("digest-b")});
  EXPECT_TRUE(loop.has<action::Evaluate>());
}

TEST(AgentEnding, InAClusterTheFinalScoreIsAlwaysFresh) {
  LoopDriver loop;
  loop.say("Done.");
  EXPECT_TRUE(loop.has_order<PackOrder>());
}

TEST(AgentEnding, AFifthOpenAskIsRefused) {
  LoopDriver loop;
  loop.say(kProfile);
  for (std::uint64_t id = 1; id <= 4; ++id)
    loop.on(EvaluationAsk{id, EvaluationMode::verify, work("digest-b")});
  EXPECT_FALSE(loop.has_order<AskAnswer>());
  loop.on(EvaluationAsk{5, EvaluationMode::verify, work("digest-b")});
  EXPECT_EQ(loop.take_order<AskAnswer>().id, 5U);
}

TEST(AgentEnding, AnEvaluationThatOutlivesTheAgentIsDropped) {
  LoopDriver loop;
  loop.say(kProfile);
  const auto call = loop.take_order<ToolCall>();
  loop.on(EvaluationAsk{9, EvaluationMode::verify, work("digest-a")});  // by a background process
  const auto number = loop.take<action::Evaluate>().number;
  loop.result(call.id, "started");
  loop.say("Done.");
  EXPECT_EQ(loop.take<action::DropEvaluation>().number, number);
  loop.on(event::Judged{number, verdict(EvaluationMode::verify, "ok", std::nullopt)});
  EXPECT_FALSE(loop.has_order<AskAnswer>());
  EXPECT_EQ(loop.finish_with(verdict(EvaluationMode::score, "ok", 1.0)).evaluations.at("ok"), 1U);
}

TEST(AgentEnding, ALostSandboxIsInfrastructureUntilTheBundleIsHere) {
  LoopDriver early;
  early.on(event::SandboxLost{"sandbox_lost"});
  const auto done = early.take<action::End>().done;  // nothing was said: no record
  EXPECT_EQ(done.infrastructure_cause, "sandbox_lost");
  EXPECT_FALSE(early.has<action::Deliver>());

  LoopDriver packing;
  packing.say("Done.");
  packing.on(event::SandboxLost{"sandbox_lost"});
  const auto record = packing.take<action::Deliver>();
  EXPECT_TRUE(record.best_effort);
  EXPECT_EQ(record.trajectory->reward, std::nullopt);

  LoopDriver judging;
  judging.say("Done.");
  judging.on(WorkPacked{judging.take_order<PackOrder>().id, work("digest-a")});
  judging.on(event::SandboxLost{"sandbox_lost"});
  judging.on(event::Judged{judging.take<action::Evaluate>().number,
                           verdict(EvaluationMode::score, "ok", 3.0)});
  EXPECT_EQ(judging.take<action::Deliver>().trajectory->reward, 3.0);
}

TEST(AgentEnding, ALostPolicyOrPoolIsNeverScored) {
  LoopDriver policy;
  policy.turn(kProfile, "x");
  policy.on(event::PolicyLost{"policy_lost"});
  EXPECT_TRUE(policy.take<action::Deliver>().best_effort);
  policy.on(event::DeliveryGivenUp{});
  const auto done = policy.take<action::End>().done;
  EXPECT_EQ(done.reason, EndReason::infrastructure);
  EXPECT_EQ(done.infrastructure_cause, "policy_lost");
  EXPECT_FALSE(done.delivered);
  EXPECT_EQ(done.reward, std::nullopt);

  LoopDriver pool;
  pool.say("Done.");
  pool.on(WorkPacked{pool.take_order<PackOrder>().id, work("digest-a")});
  pool.on(event::EvaluationLost{pool.take<action::Evaluate>().number, "pool_lost"});
  EXPECT_EQ(pool.take<action::Deliver>().trajectory->infrastructure_failure, "pool_lost");
}

TEST(AgentEnding, AnAcceptedDiagnosisRecordIsNoDelivery) {
  LoopDriver loop;
  loop.turn(kProfile, "x");
  loop.on(event::PolicyLost{"policy_lost"});
  loop.take<action::Deliver>();
  loop.on(event::Delivered{{SubmitAnswer::accepted, ""}});
  EXPECT_FALSE(loop.take<action::End>().done.delivered);
}

TEST(AgentEnding, CancellingEndsAtOnceExceptWhileDelivering) {
  LoopDriver speaking;
  speaking.on(event::Cancelled{});
  EXPECT_TRUE(speaking.has<action::StopGenerating>());
  EXPECT_EQ(speaking.take<action::End>().done.reason, EndReason::cancelled);

  LoopDriver delivering;
  delivering.say("Done.");
  delivering.score_final(verdict(EvaluationMode::score, "ok", 1.0));
  delivering.on(event::Cancelled{});
  EXPECT_FALSE(delivering.has<action::End>());
  delivering.on(event::CutOff{});
  EXPECT_EQ(delivering.take<action::End>().done.infrastructure_cause, "worker_drained");
}

TEST(AgentEnding, ATaskThatTheJudgeFindsInvalidIsNotScored) {
  LoopDriver loop;
  loop.say("Done.");
  loop.score_final(verdict(EvaluationMode::score, "task_invalid", std::nullopt));
  EXPECT_EQ(loop.take<action::Deliver>().trajectory->infrastructure_failure, "judge_task_invalid");
}

}  // namespace
}  // namespace swage::rollout_worker::test
