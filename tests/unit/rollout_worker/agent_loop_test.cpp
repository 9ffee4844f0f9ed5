#include "rollout_worker/core/agent_loop.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/rollout_worker/loop_driver.hpp"

namespace swage::rollout_worker::test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kRead =
    R"(<tool_call>{"name":"Read","arguments":{"file_path":"/workspace/task/model.py"}}</tool_call>)";

TEST(AgentLoop, RunsAWholeRolloutAndDeliversWhatWasSampled) {
  LoopDriver loop;
  auto generate = loop.take<action::Generate>();
  EXPECT_EQ(loop.renderer.decode(generate.append), "<256>softmax<259><257>");
  loop.say(kRead, 7);
  const auto call = loop.take_order<ToolCall>();
  EXPECT_EQ(call.name, "Read");
  loop.result(call.id, "class Model 1.25", "digest-b");

  generate = loop.take<action::Generate>();
  EXPECT_EQ(loop.renderer.decode(generate.append), "<258>class Model 1.25<259><257>");
  loop.say("Done.", 8);
  const auto pack = loop.take_order<PackOrder>();
  loop.on(WorkPacked{pack.id, work("digest-b")});
  const auto evaluate = loop.take<action::Evaluate>();
  EXPECT_EQ(evaluate.mode, EvaluationMode::score);
  loop.on(event::Judged{evaluate.number, verdict(EvaluationMode::score, "ok", 3.0)});

  const auto trajectory = loop.take<action::Deliver>().trajectory;
  EXPECT_EQ(trajectory->reward, 3.0);
  EXPECT_EQ(trajectory->reason, EndReason::no_tool_call);
  EXPECT_EQ(trajectory->token_ids.size(), trajectory->loss_mask.size());
  EXPECT_EQ(trajectory->token_ids.size(), trajectory->behaviour_logprobs.size());
  ASSERT_EQ(trajectory->turns.size(), 2U);
  ASSERT_EQ(trajectory->version_spans.size(), 2U);
  EXPECT_EQ(trajectory->version_spans[1].weight_version, 8U);
  EXPECT_EQ(trajectory->reward_position, trajectory->token_ids.size() - 1);
  for (std::size_t i = 0; i < trajectory->token_ids.size(); ++i)
    EXPECT_EQ(trajectory->loss_mask[i] == 0, std::isnan(trajectory->behaviour_logprobs[i])) << i;
  const auto& turn = trajectory->turns[0];
  EXPECT_EQ(turn.policy_begin, 10U);
  EXPECT_EQ(turn.observation_end, trajectory->turns[1].policy_begin);
  EXPECT_EQ(turn.work_digest, "digest-b");
  EXPECT_TRUE(turn.calls.at(0).schema_valid);

  loop.on(event::Delivered{{SubmitAnswer::accepted, ""}});
  const auto done = loop.take<action::End>().done;
  EXPECT_TRUE(done.delivered);
  EXPECT_EQ(done.reward, 3.0);
  EXPECT_EQ(done.evaluations.at("ok"), 1U);
  EXPECT_EQ(done.trust, "full");
  EXPECT_TRUE(loop->ended());
}

TEST(AgentLoop, ACallQuotedInAnObservationNeverRuns) {
  LoopDriver loop;
  loop.say(kRead);
  const auto call = loop.take_order<ToolCall>();
  loop.result(call.id, kRead);
  const auto generate = loop.take<action::Generate>();
  EXPECT_THAT(loop.renderer.decode(generate.append), HasSubstr("<tool_call>"));
  loop.say("I saw that.");
  EXPECT_TRUE(loop.has_order<PackOrder>());  // the rollout ends, and nothing ran
  EXPECT_FALSE(loop.has_order<ToolCall>());
}

TEST(AgentLoop, SeveralCallsRunInOrderOneAfterTheOther) {
  LoopDriver loop;
  loop.say(std::string(kRead) + R"(<tool_call>{"name":"KillBash","arguments":{}}</tool_call>)");
  const auto first = loop.take_order<ToolCall>();
  EXPECT_FALSE(loop.has_order<ToolCall>());
  loop.result(first.id, "one");
  const auto second = loop.take_order<ToolCall>();
  EXPECT_EQ(second.name, "KillBash");
  loop.result(first.id, "late repeat");  // not the call in hand
  EXPECT_FALSE(loop.has<action::Generate>());
  loop.result(second.id, "two");
  EXPECT_EQ(loop.renderer.decode(loop.take<action::Generate>().append),
            "<258>one<259><258>two<259><257>");
}

TEST(AgentLoop, ThreeMalformedCallsInARowEndTheRollout) {
  LoopDriver loop;
  loop.say("<tool_call>{]</tool_call>");
  EXPECT_THAT(loop.renderer.decode(loop.take<action::Generate>().append),
              HasSubstr("not valid JSON"));
  loop.say(kRead);
  loop.result(loop.take_order<ToolCall>().id, "", "digest-a", false);  // schema says no
  loop.take<action::Generate>();
  loop.say("<tool_call>");
  EXPECT_TRUE(loop.has_order<PackOrder>());
  EXPECT_EQ(loop.finish_with(verdict(EvaluationMode::score, "compile_error", -1.0)).reason,
            EndReason::schema_violation);
}

TEST(AgentLoop, TwoMalformedCallsAndAGoodOneDoNotEndIt) {
  LoopDriver loop;
  loop.say("<tool_call>{]</tool_call><tool_call></tool_call>");
  loop.take<action::Generate>();
  loop.say(kRead);
  loop.result(loop.take_order<ToolCall>().id, "fine");
  loop.take<action::Generate>();
  loop.say("<tool_call>{]</tool_call><tool_call></tool_call>");
  EXPECT_TRUE(loop.has<action::Generate>());
}

TEST(AgentLoop, TheTurnLimitTruncates) {
  LoopDriver loop([](Assignment& a) { a.limits.turns = 2; });
  loop.turn(kRead, "x");
  loop.say(kRead);
  loop.result(loop.take_order<ToolCall>().id, "x");
  const auto done = loop.finish_with(verdict(EvaluationMode::score, "ok", 1.0));
  EXPECT_EQ(done.reason, EndReason::turn_limit);
  EXPECT_EQ(done.reward, 1.0);  // a truncated trajectory still has a real verdict
}

TEST(AgentLoop, AnObservationThatFillsTheContextEndsItWithinTheLimit) {
  const auto tokens_after = [](std::uint32_t context) {
    LoopDriver loop([&](Assignment& a) { a.limits.context_tokens = context; });
    loop.say(kRead);
    loop.result(loop.take_order<ToolCall>().id, std::string(100, 'x'));
    if (loop.has<action::Generate>()) {
      EXPECT_EQ(loop.take<action::Generate>().max_tokens, 1U);
      return std::uint32_t{0};
    }
    const auto done = loop.finish_with(verdict(EvaluationMode::score, "ok", 1.0));
    EXPECT_EQ(done.reason, EndReason::context_full);
    return done.tokens;
  };
  const auto opening = 10U;
  const auto message = static_cast<std::uint32_t>(std::string(kRead).size()) + 1;
  const auto observation = 103U;
  EXPECT_EQ(tokens_after(opening + message + observation), opening + message);
  EXPECT_EQ(tokens_after(opening + message + observation + 1), 0U);  // one token fits
}

TEST(AgentLoop, AMessageCutByItsOwnLimitIsAnObservationNotAnEnd) {
  LoopDriver loop;
  loop.say("<tool_call>{\"name\":", 1, MessageEnd::max_tokens);
  const auto text = loop.renderer.decode(loop.take<action::Generate>().append);
  EXPECT_THAT(text, testing::StartsWith("<259><258>"));  // its end is ours, not sampled
  loop.say("rambling", 1, MessageEnd::max_tokens);
  EXPECT_THAT(loop.renderer.decode(loop.take<action::Generate>().append), HasSubstr("was cut"));
}

TEST(AgentLoop, TheWallClockCutsATool) {
  LoopDriver loop([](Assignment& a) { a.limits.wall_clock = seconds(100); });
  loop.say(kRead);
  const auto call = loop.take_order<ToolCall>();
  loop.advance(seconds(99));
  loop.on(event::TimeIsUp{});
  EXPECT_FALSE(loop.has_order<CancelTool>());
  loop.advance(seconds(1));
  loop.on(event::TimeIsUp{});
  EXPECT_EQ(loop.take_order<CancelTool>().id, call.id);
  loop.result(call.id, "cut");
  EXPECT_EQ(loop.finish_with(verdict(EvaluationMode::score, "ok", 2.0)).reason,
            EndReason::wall_clock);
}

TEST(AgentLoop, TheWallClockCutsAMessageAndKeepsItsTokens) {
  LoopDriver loop([](Assignment& a) { a.limits.wall_clock = seconds(100); });
  loop.advance(seconds(100));
  loop.on(event::TimeIsUp{});
  loop.take<action::StopGenerating>();
  loop.say("half a", 1, MessageEnd::cancelled);
  const auto done = loop.finish_with(verdict(EvaluationMode::score, "compile_error", -1.0));
  EXPECT_EQ(done.reason, EndReason::wall_clock);
  EXPECT_EQ(done.tokens, 16U);
}

TEST(AgentLoop, APolicyThatIsLostIsInfrastructureAlsoWhenTheTimeIsUp) {
  LoopDriver loop([](Assignment& a) { a.limits.wall_clock = seconds(100); });
  loop.turn(kRead, "x");
  loop.advance(seconds(100));
  loop.on(event::TimeIsUp{});
  loop.take<action::StopGenerating>();
  loop.on(event::PolicyLost{"policy_lost"});
  EXPECT_FALSE(loop.has_order<PackOrder>());  // nothing is judged
  EXPECT_TRUE(loop.take<action::Deliver>().best_effort);
}

TEST(AgentLoop, AToolThatDoesNotEndWhenCutMeansThatTheSandboxIsLost) {
  LoopDriver loop([](Assignment& a) { a.limits.wall_clock = seconds(100); });
  loop.say(kRead);
  loop.advance(seconds(100));
  loop.on(event::TimeIsUp{});
  loop.advance(AgentLoop::kGrace - seconds(1));
  loop.on(event::TimeIsUp{});
  EXPECT_FALSE(loop.has<action::Deliver>());
  loop.advance(seconds(1));
  loop.on(event::TimeIsUp{});
  EXPECT_TRUE(loop.take<action::Deliver>().best_effort);
}

TEST(AgentLoop, EvaluationsStopTheWallClock) {
  LoopDriver loop([](Assignment& a) { a.limits.wall_clock = seconds(100); });
  loop.say(kRead);
  loop.on(EvaluationAsk{5, EvaluationMode::verify, work("digest-a")});
  EXPECT_EQ(loop->wake_at(), std::nullopt);
  loop.advance(seconds(1800));
  loop.on(event::Judged{loop.take<action::Evaluate>().number,
                        verdict(EvaluationMode::verify, "ok", std::nullopt)});
  EXPECT_EQ(loop->wake_at(), loop.now + seconds(100));
  const auto answer = loop.take_order<AskAnswer>();
  EXPECT_EQ(answer.id, 5U);
  EXPECT_EQ(answer.judgement->code, "ok");
}

TEST(AgentLoop, AnInfrastructureVerdictIsJudgedAgainOnAnotherGpuThreeTimesAtMost) {
  LoopDriver loop;
  loop.say("Done.");
  loop.on(WorkPacked{loop.take_order<PackOrder>().id, work("digest-a")});
  for (int i = 1; i <= 3; ++i) {
    const auto evaluate = loop.take<action::Evaluate>();
    EXPECT_EQ(evaluate.avoid.size(), static_cast<std::size_t>(i - 1));
    loop.on(event::Judged{evaluate.number,
                          verdict(EvaluationMode::score, "infra_error", std::nullopt)});
  }
  EXPECT_FALSE(loop.has<action::Evaluate>());
  const auto deliver = loop.take<action::Deliver>();
  EXPECT_EQ(deliver.trajectory->infrastructure_failure, "judge_infra_error");
  EXPECT_EQ(deliver.trajectory->reward, std::nullopt);
  EXPECT_EQ(deliver.trajectory->verdicts.size(), 3U);
}

TEST(AgentLoop, RejectionAndDuplicateAreTold) {
  const auto done_after = [](Delivery delivery) {
    LoopDriver loop;
    loop.say("Done.");
    loop.score_final(verdict(EvaluationMode::score, "ok", 1.0));
    loop.take<action::Deliver>();
    loop.on(event::Delivered{delivery});
    return loop.take<action::End>().done;
  };
  EXPECT_TRUE(done_after({SubmitAnswer::duplicate, ""}).delivered);
  const auto rejected = done_after({SubmitAnswer::rejected, "malformed"});
  EXPECT_FALSE(rejected.delivered);
  EXPECT_EQ(rejected.infrastructure_cause, "rejected:malformed");
}

TEST(AgentLoop, FallingVersionsAreRefused) {
  LoopDriver loop;
  loop.turn(kRead, "x", 8);
  loop.say("Done.", 7);
  EXPECT_EQ(loop.take<action::Deliver>().trajectory->infrastructure_failure, "policy_bad_reply");
}

TEST(AgentLoop, NoAgentLoopMeansOneTurnAndNoObservation) {
  LoopDriver loop([](Assignment& a) { a.no_agent_loop = true; });
  loop.say(kRead);
  loop.result(loop.take_order<ToolCall>().id, "written", "digest-b");
  const auto done = loop.finish_with(verdict(EvaluationMode::score, "ok", 2.0));
  EXPECT_EQ(done.turns, 1U);
  EXPECT_EQ(done.tokens, 10 + std::string(kRead).size() + 1);
}

}  // namespace
}  // namespace swage::rollout_worker::test
