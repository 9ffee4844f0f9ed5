#include "policy/core/scheduler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/digest.hpp"

namespace swage::policy {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::uint32_t>;

SchedulerLimits limits() {
  SchedulerLimits l;
  l.vocabulary = 100;
  l.context = 64;
  l.pages = 16;
  l.page_tokens = 4;
  l.prefill_chunk = 8;
  l.step_tokens = 16;
  l.queue = 4;
  return l;
}

/// Drives a scheduler by hand: each sampled token is the next of a script, 7 by default.
class Desk {
 public:
  explicit Desk(const SchedulerLimits& l = limits()) : scheduler(l) {
    scheduler.weights_loaded(1, KvPolicy::recompute);
  }
  RequestId ask(const std::string& session, Ids ids, std::uint32_t max_tokens = 2) {
    GenerateRequest request;
    request.session = session;
    request.append_ids = std::move(ids);
    request.max_tokens = max_tokens;
    return submit(std::move(request));
  }
  RequestId more(const std::string& session, const Ids& held, Ids ids) {
    GenerateRequest request;
    request.session = session;
    request.held = static_cast<std::uint32_t>(held.size());
    request.held_hash = fnv1a(held);
    request.append_ids = std::move(ids);
    request.max_tokens = 1;
    return submit(std::move(request));
  }
  RequestId submit(GenerateRequest request) {
    scheduler.submit(++last, std::move(request), now);
    collect();
    return last;
  }
  /// One step; returns what ran as "request:past+count", with `!` where a token was sampled.
  std::vector<std::string> step(std::uint32_t token = 7) {
    const auto plan = scheduler.plan(now);
    std::vector<std::string> ran;
    std::vector<StepSample> samples;
    for (const auto& item : plan.items) {
      ran.push_back(std::to_string(item.request) + ":" + std::to_string(item.past) + "+" +
                    std::to_string(item.ids.size()) + (item.sample ? "!" : ""));
      if (item.sample) samples.push_back({token, -1.0F});
      const auto needed = static_cast<std::size_t>(item.past) + item.ids.size();
      EXPECT_GE(item.pages.size() * 4, needed);
    }
    scheduler.complete(plan, samples, now);
    collect();
    return ran;
  }
  void collect() {
    for (auto& emission : scheduler.take_emissions()) {
      if (const auto* tokens = std::get_if<SampledTokens>(&emission.what)) {
        auto& to = sampled[emission.request];
        to.insert(to.end(), tokens->ids.begin(), tokens->ids.end());
        versions[emission.request].push_back(tokens->weight_version);
      }
      if (const auto* end = std::get_if<GenerateEnd>(&emission.what)) ends[emission.request] = *end;
      if (const auto* no = std::get_if<GenerateRefusal>(&emission.what))
        refusals[emission.request] = no->code;
    }
  }

  Scheduler scheduler;
  TimePoint now;
  RequestId last = 0;
  std::map<RequestId, Ids> sampled;
  std::map<RequestId, std::vector<std::uint64_t>> versions;
  std::map<RequestId, GenerateEnd> ends;
  std::map<RequestId, GenerateErrc> refusals;
};

TEST(Scheduler, ATurnIsPrefilledOnceAndTheNextTurnOnlyAddsWhatIsNew) {
  Desk desk;
  const auto first = desk.ask("s", {1, 2, 3});
  EXPECT_THAT(desk.step(), ElementsAre("1:0+3!"));
  EXPECT_THAT(desk.step(), ElementsAre("1:3+1!"));
  EXPECT_EQ(desk.ends[first].stop, GenerateStop::max_tokens);
  EXPECT_EQ(desk.ends[first].prefilled_tokens, 3U);
  EXPECT_EQ(desk.ends[first].generated_tokens, 2U);

  const auto second = desk.more("s", {1, 2, 3, 7, 7}, {8, 9});
  EXPECT_THAT(desk.step(), ElementsAre("2:4+3!"));  // the last sampled id and two new ones
  EXPECT_EQ(desk.ends[second].prefilled_tokens, 3U);
  EXPECT_THAT(desk.step(), ElementsAre());
}

TEST(Scheduler, ASessionThatIsNotHeldExactlyIsAMiss) {
  Desk desk;
  desk.ask("s", {1, 2, 3}, 1);
  desk.step();
  for (const auto id : {desk.more("s", {1, 2, 3}, {9}), desk.more("s", {1, 2, 3, 8}, {9}),
                        desk.more("t", {1, 2, 3, 7}, {9})})
    EXPECT_EQ(desk.ends.at(id).stop, GenerateStop::session_miss);
  EXPECT_FALSE(desk.ends.contains(desk.more("s", {1, 2, 3, 7}, {9})));
}

TEST(Scheduler, DecodesComeFirstThenPrefillsInChunksOldestFirst) {
  Desk desk;
  desk.ask("a", Ids(3, 1), 9);
  desk.step();
  desk.ask("b", Ids(20, 1), 9);
  desk.ask("c", Ids(20, 1), 9);
  EXPECT_THAT(desk.step(), ElementsAre("1:3+1!", "2:0+8", "3:0+7"));  // 16 tokens a step
  EXPECT_THAT(desk.step(), ElementsAre("1:4+1!", "2:8+8", "3:7+7"));
  EXPECT_THAT(desk.step(), ElementsAre("1:5+1!", "2:16+4!", "3:14+6!"));
}

TEST(Scheduler, StopIdsContextAndMaxTokensEndAMessageAndTheirIdsStay) {
  Desk desk;
  GenerateRequest request;
  request.session = "s";
  request.append_ids = {1};
  request.max_tokens = 9;
  request.stop_ids = {42};
  const auto stopped = desk.submit(request);
  desk.step(7);
  desk.step(42);
  EXPECT_EQ(desk.ends.at(stopped).stop, GenerateStop::stop_id);
  EXPECT_THAT(desk.sampled[stopped], ElementsAre(7, 42));

  const auto full = desk.ask("t", Ids(62, 1), 9);
  while (!desk.step().empty()) continue;
  EXPECT_EQ(desk.ends.at(full).stop, GenerateStop::context_limit);
  EXPECT_EQ(desk.sampled[full].size(), 2U);
  EXPECT_EQ(desk.ends.at(desk.ask("u", Ids(64, 1))).stop, GenerateStop::context_limit);
  EXPECT_FALSE(desk.ends.contains(desk.ask("v", Ids(63, 1))));
}

TEST(Scheduler, WhatCannotBeServedIsRefusedWithItsReason) {
  Desk desk;
  using enum GenerateErrc;
  EXPECT_EQ(desk.refusals.at(desk.ask("s", {100})), bad_request);
  EXPECT_EQ(desk.refusals.at(desk.ask("s", {})), bad_request);
  EXPECT_EQ(desk.refusals.at(desk.ask("", {1})), bad_request);
  EXPECT_EQ(desk.refusals.at(desk.ask("s", {1}, 0)), bad_request);
  GenerateRequest newer;
  newer.session = "s";
  newer.append_ids = {99};
  newer.max_tokens = 1;
  newer.min_weight_version = 2;
  EXPECT_EQ(desk.refusals.at(desk.submit(newer)), old_weights);
  newer.min_weight_version = 1;
  EXPECT_FALSE(desk.refusals.contains(desk.submit(newer)));
  EXPECT_EQ(desk.refusals.at(desk.ask("s", {1})), session_busy);
  for (const char* session : {"a", "b", "c"})
    EXPECT_FALSE(desk.refusals.contains(desk.ask(session, {1})));
  EXPECT_EQ(desk.refusals.at(desk.ask("d", {1})), busy);  // the queue holds four

  Scheduler fresh(limits());
  newer.min_weight_version = 0;
  fresh.submit(1, newer, {});
  EXPECT_EQ(std::get<GenerateRefusal>(fresh.take_emissions().at(0).what).code, no_weights);
}

TEST(Scheduler, CancelReturnsWhatWasSampledAndKeepsTheSession) {
  Desk desk;
  const auto id = desk.ask("s", {1, 2}, 9);
  desk.step();
  desk.scheduler.cancel(id);
  desk.scheduler.cancel(id);  // ended already
  desk.collect();
  EXPECT_EQ(desk.ends.at(id).stop, GenerateStop::cancelled);
  EXPECT_EQ(desk.ends.at(id).generated_tokens, 1U);
  EXPECT_FALSE(desk.ends.contains(desk.more("s", {1, 2, 7}, {})));
  EXPECT_THAT(desk.step(), ElementsAre("2:2+1!"));
}

TEST(Scheduler, ADeadlineCancelsAndAnIdleSessionIsDropped) {
  Desk desk;
  GenerateRequest request;
  request.session = "s";
  request.append_ids = {1};
  request.max_tokens = 9;
  request.deadline = desk.now + std::chrono::seconds(1);
  const auto id = desk.submit(request);
  desk.scheduler.expire(desk.now + std::chrono::milliseconds(999));
  desk.collect();
  EXPECT_FALSE(desk.ends.contains(id));
  desk.scheduler.expire(desk.now + std::chrono::seconds(1));
  desk.collect();
  EXPECT_EQ(desk.ends.at(id).stop, GenerateStop::cancelled);

  desk.scheduler.expire(desk.now + std::chrono::minutes(29));
  EXPECT_EQ(desk.scheduler.sessions(), 1U);
  desk.scheduler.expire(desk.now + std::chrono::minutes(30));
  EXPECT_EQ(desk.scheduler.sessions(), 0U);
  EXPECT_EQ(desk.scheduler.kv_used_ratio(), 0);
}

TEST(Scheduler, NewWeightsUnderRecomputePrefillLiveSessionsAgainAndUnderKeepDoNot) {
  for (const auto policy : {KvPolicy::recompute, KvPolicy::keep}) {
    Desk desk;
    const auto id = desk.ask("s", {1, 2, 3}, 9);
    desk.step();
    desk.scheduler.weights_loaded(2, policy);
    if (policy == KvPolicy::recompute) {
      EXPECT_THAT(desk.step(), ElementsAre("1:0+4!"));
    } else {
      EXPECT_THAT(desk.step(), ElementsAre("1:3+1!"));
    }
    EXPECT_THAT(desk.versions[id], ElementsAre(1, 2));
  }
}

TEST(Scheduler, ShortOfPagesTheLeastRecentlyUsedIdleSessionLosesItsOwn) {
  Desk desk;  // 16 pages of 4
  desk.ask("old", Ids(30, 1), 1);
  while (!desk.step().empty()) continue;
  desk.now += std::chrono::seconds(1);
  desk.ask("new", Ids(20, 1), 1);
  while (!desk.step().empty()) continue;
  desk.now += std::chrono::seconds(1);
  desk.ask("big", Ids(18, 1), 1);
  while (!desk.step().empty()) continue;
  Ids held(20, 1);
  held.push_back(7);
  desk.more("new", held, {2});
  EXPECT_THAT(desk.step(), ElementsAre("4:20+2!"));  // untouched
  held = Ids(30, 1);
  held.push_back(7);
  const auto again = desk.more("old", held, {2});  // still known, prefilled again
  EXPECT_FALSE(desk.ends.contains(again));
  EXPECT_THAT(desk.step(), ElementsAre("5:0+8"));
}

TEST(Scheduler, ShortOfPagesTheYoungestRequestWaitsAndIsPrefilledAgain) {
  Desk desk;
  const auto a = desk.ask("a", Ids(30, 1), 20);
  const auto b = desk.ask("b", Ids(30, 1), 4);
  std::size_t steps = 0;
  while (!desk.step().empty() && ++steps < 200) continue;
  EXPECT_EQ(desk.ends.at(a).generated_tokens, 20U);
  EXPECT_EQ(desk.ends.at(a).prefilled_tokens, 30U);
  EXPECT_EQ(desk.ends.at(b).generated_tokens, 4U);
}

TEST(Scheduler, PagesComeBackWhenSessionsClose) {
  Desk desk;
  const auto id = desk.ask("s", Ids(9, 1), 9);
  desk.step();
  EXPECT_GT(desk.scheduler.kv_used_ratio(), 0);
  desk.scheduler.close("s");
  desk.scheduler.close("unknown");
  desk.collect();
  EXPECT_EQ(desk.ends.at(id).stop, GenerateStop::cancelled);
  EXPECT_EQ(desk.scheduler.kv_used_ratio(), 0);
  EXPECT_FALSE(desk.scheduler.has_work());
}

TEST(Scheduler, LogitsThatAreNotFiniteRefuseTheRequestAlone) {
  Desk desk;
  const auto bad = desk.ask("a", {1}, 3);
  const auto good = desk.ask("b", {1}, 3);
  const auto plan = desk.scheduler.plan(desk.now);
  const std::vector<StepSample> samples{{std::nullopt, 0}, {5U, -1}};
  desk.scheduler.complete(plan, samples, desk.now);
  desk.collect();
  EXPECT_EQ(desk.refusals.at(bad), GenerateErrc::broken_model);
  EXPECT_THAT(desk.sampled[good], ElementsAre(5));
}

TEST(Scheduler, AHundredTurnsRunEachTokenOnce) {
  auto wide = limits();
  wide.context = 4000;
  wide.pages = 1000;
  Desk desk(wide);
  Ids held;
  std::uint32_t run = 0;
  for (std::uint32_t turn = 0; turn < 100; ++turn) {
    const Ids observation(20, turn % 90);
    const auto id =
        held.empty() ? desk.ask("s", observation, 1) : desk.more("s", held, observation);
    while (!desk.step().empty()) continue;
    held.insert(held.end(), observation.begin(), observation.end());
    held.push_back(7);
    run += desk.ends.at(id).prefilled_tokens;
  }
  EXPECT_LE(run, held.size() * 102 / 100);
}

}  // namespace
}  // namespace swage::policy
