// Over 400 lines: one case for each row of the lease protocol, all on one fixture.
// The queue's decisions, one test per row of leases.md §3, §5 and §6 that is built.
#include "gpu_pool/lease/core/machine.hpp"

#include <gmock/gmock.h>

namespace swage::lease {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr Micros kSecond = 1'000'000;

class MachineTest : public ::testing::Test {
 protected:
  MachineTest() {
    at(0);
    EXPECT_EQ(*machine.install(1, server, settings_from({})), InstallAnswer::ok);
  }
  void at(Micros since_start) { machine.at(start + (now = since_start), server); }
  void later(Micros by) { at(now + by); }
  Reply<RegisterAnswer> join(const std::string& gpu, const std::string& boot = "boot",
                             std::optional<RunningLease> running = {}, Token floor = {}) {
    later(1);
    Registration registration;
    registration.gpu = GpuId(gpu);
    registration.boot = BootId(boot);
    registration.address = "unix:/" + gpu;
    registration.floor = floor;
    registration.running = std::move(running);
    return machine.register_gpu(registration);
  }
  AcquireReply ask(const std::string& request, const std::string& run = "run",
                   RequestClass cls = RequestClass::verify, const std::string& client = "c0",
                   bool first = true, Micros age = 0) {
    later(1);
    HoldAsk wanted;
    wanted.request = RequestId(request);
    wanted.run = RunUid(run);
    wanted.cls = cls;
    return *machine.acquire(wanted, client, age, first);
  }
  GrantReply take(const std::string& request, const std::string& run = "run",
                  RequestClass cls = RequestClass::verify) {
    return std::get<GrantReply>(ask(request, run, cls));
  }
  bool waits(const std::string& request, const std::string& run = "run",
             RequestClass cls = RequestClass::verify, const std::string& client = "c0") {
    return std::holds_alternative<Waiting>(ask(request, run, cls, client));
  }
  LeaseErrc renewal(const GrantReply& grant) {
    later(1);
    const auto reply = machine.renew(grant.request, grant.token);
    EXPECT_FALSE(reply.has_value());
    return reply ? LeaseErrc::bad_reply : reply.error();
  }
  bool renews(const GrantReply& grant) {
    later(1);
    return machine.renew(grant.request, grant.token).has_value();
  }
  Reply<void> release(const GrantReply& grant, ReleaseAs how = ReleaseAs::clear) {
    later(1);
    return machine.release(grant.request, grant.token, how);
  }
  HeartbeatAnswer beat(const std::string& gpu, const std::string& boot = "boot") {
    later(1);
    return *machine.heartbeat(gpu, boot);
  }
  SweepCounts sweep() {
    later(1);
    return *machine.sweep(1, 100);
  }
  std::string gpu_state(const std::string& gpu) { return machine.state().gpus.at(gpu).state; }
  std::vector<std::string> mailed() {
    std::vector<std::string> requests;
    for (const auto& mail : machine.mailed()) requests.push_back(mail.grant.request);
    return requests;
  }
  GrantReply mailed_grant() {
    const auto mail = machine.mailed();
    EXPECT_EQ(mail.size(), 1U);
    return mail.at(0).grant;
  }

  std::set<std::string> deaf;  ///< clients without a mailbox
  Micros start = 1'700'000'000 * kSecond, now = 0;
  std::string server = "s1";
  Machine machine{[this](const std::string& client) { return !deaf.contains(client); }};
};

// --- install, epochs, server identity

TEST(Machine, NothingIsGrantedBeforeAnInstall) {
  Machine machine{[](const std::string&) { return true; }};
  machine.at(kSecond, "s1");
  EXPECT_EQ(machine.acquire({}, "c0", 0, true).error(), LeaseErrc::no_epoch);
  EXPECT_EQ(machine.heartbeat("g", "b").error(), LeaseErrc::no_epoch);
  EXPECT_EQ(*machine.inspect(), (ServerState{"s1", "", 0, 0}));
}

TEST_F(MachineTest, InstallMayBeRepeatedButNotGoBack) {
  EXPECT_EQ(*machine.install(1, "s1", settings_from({})), InstallAnswer::ok);
  EXPECT_EQ(*machine.install(2, "s1", settings_from({})), InstallAnswer::ok);
  EXPECT_EQ(*machine.install(1, "s1", settings_from({})), InstallAnswer::stale_epoch);
  EXPECT_EQ(*machine.install(3, "s0", settings_from({})), InstallAnswer::wrong_server);
}

TEST_F(MachineTest, ANewLeaderPausesNothing) {
  join("g0");
  const auto grant = take("a");
  EXPECT_EQ(*machine.install(2, "s1", settings_from({})), InstallAnswer::ok);
  EXPECT_EQ(gpu_state("g0"), "leased");
  EXPECT_TRUE(renews(grant));
  EXPECT_EQ(machine.sweep(1, 8).error(), LeaseErrc::stale_epoch);
  EXPECT_EQ(machine.forget_gpu(1, "g0").error(), LeaseErrc::stale_epoch);
}

TEST_F(MachineTest, AChangedServerGrantsNothingUntilInstalledAndItsGpusMustRegister) {
  join("g0");
  server = "s2";  // failed over
  EXPECT_TRUE(waits("a"));
  EXPECT_EQ(join("g0").error(), LeaseErrc::no_epoch);
  EXPECT_EQ(machine.sweep(1, 8).error(), LeaseErrc::no_epoch);
  EXPECT_EQ(*machine.install(1, "s2", settings_from({})), InstallAnswer::stale_epoch);
  EXPECT_EQ(*machine.install(2, "s2", settings_from({})), InstallAnswer::ok);
  EXPECT_EQ(gpu_state("g0"), "unconfirmed");
  EXPECT_TRUE(waits("b"));
  EXPECT_TRUE(std::holds_alternative<MustRegister>(beat("g0")));
  join("g0");
  EXPECT_EQ(mailed_grant().token, (Token{2, 1}));
}

TEST_F(MachineTest, AWorkerThatHasSeenAHigherEpochIsNotRegisteredUntilTheLeaderPassesIt) {
  EXPECT_TRUE(std::holds_alternative<EpochBehind>(*join("g0", "boot", {}, {5, 2})));
  EXPECT_EQ(sweep().floor_epoch, 5U);
  EXPECT_EQ(*machine.install(5, server, settings_from({})), InstallAnswer::stale_epoch);
  EXPECT_EQ(*machine.install(6, server, settings_from({})), InstallAnswer::ok);
  EXPECT_TRUE(std::holds_alternative<Registered>(*join("g0", "boot", {}, {5, 2})));
}

TEST_F(MachineTest, TheServersClockNeitherRunsBackNorStandsStill) {
  join("g0");
  const Micros before = machine.state().meta.clock;
  at(-3600 * kSecond);
  take("a");
  EXPECT_EQ(machine.state().meta.clock, before + 1);
  EXPECT_EQ(sweep().suspect, 0U);
}

// --- acquire and hand on

TEST_F(MachineTest, AnIdleGpuIsHeldAtOnceWithATokenAboveAllBefore) {
  join("g0");
  const auto grant = take("a");
  EXPECT_EQ(grant.token, (Token{1, 1}));
  EXPECT_FALSE(grant.repeat);
  EXPECT_EQ(grant.usable_ms, 12'000);
  EXPECT_TRUE(release(grant).has_value());
  EXPECT_EQ(take("b").token, (Token{1, 2}));
}

TEST_F(MachineTest, ASecondSendingGetsTheSameGrantWhichMustBeClaimed) {
  join("g0");
  const auto grant = take("a");
  const auto again = take("a");
  EXPECT_EQ(again.token, grant.token);
  EXPECT_TRUE(again.repeat);
  EXPECT_EQ(machine.state().meta.counter, 1U);
}

TEST_F(MachineTest, ARequestThatWasSentBeforeIsNotHeldByTheAnswerAlone) {
  join("g0");
  const auto grant = std::get<GrantReply>(ask("a", "run", RequestClass::verify, "c0", false));
  EXPECT_TRUE(grant.repeat);
  EXPECT_EQ(machine.state().requests.at("a").state, RequestState::granted);
}

TEST_F(MachineTest, AReleasedGpuGoesToTheFirstThatWaits) {
  join("g0");
  const auto grant = take("a");
  EXPECT_TRUE(waits("b"));
  EXPECT_EQ(std::get<Waiting>(ask("c")).ahead, 1U);
  release(grant);
  EXPECT_THAT(mailed(), ElementsAre("b"));
}

TEST_F(MachineTest, TheLatestFreedGpuIsTakenFirst) {
  join("g0");
  join("g1");
  const auto a = take("a");
  EXPECT_EQ(a.gpu, "g1");
  const auto b = take("b");
  release(a);
  release(b);
  EXPECT_EQ(take("c").gpu, "g0");
}

TEST_F(MachineTest, AnEndedRequestIsNotTakenAgain) {
  join("g0");
  release(take("a"));
  EXPECT_EQ(std::get<Ended>(ask("a")).state, EndState::released);
}

TEST_F(MachineTest, AFullQueueAndAClosedPoolLetNobodyIn) {
  PoolSettings small;
  small.waiting = 3;
  small.waiting_client = 2;
  machine.install(1, server, settings_from(small));
  EXPECT_TRUE(waits("a"));
  EXPECT_TRUE(waits("b"));
  EXPECT_TRUE(std::holds_alternative<FullReply>(ask("c")));
  EXPECT_TRUE(waits("d", "run", RequestClass::verify, "c1"));
  EXPECT_TRUE(std::holds_alternative<FullReply>(ask("e", "run", RequestClass::verify, "c2")));
  EXPECT_TRUE(waits("a"));  // known: its state
  small.closed = true;
  machine.install(1, server, settings_from(small));
  EXPECT_TRUE(std::holds_alternative<Closed>(ask("f")));
}

TEST_F(MachineTest, ADeadClientIsParkedAndIdlesNoGpu) {
  join("g0");
  const auto grant = take("a");
  deaf = {"c9"};
  EXPECT_TRUE(waits("dead", "run", RequestClass::verify, "c9"));
  EXPECT_TRUE(waits("b"));
  release(grant);
  EXPECT_THAT(mailed(), ElementsAre("b"));
  EXPECT_EQ(machine.state().requests.at("dead").state, RequestState::parked);
}

TEST_F(MachineTest, AParkedRequestComesBackWhenItsClientPollsAndIsAnsweredThere) {
  join("g0");
  const auto grant = take("a");
  deaf = {"c9"};
  EXPECT_TRUE(waits("b", "run", RequestClass::verify, "c9"));
  release(grant);
  EXPECT_EQ(gpu_state("g0"), "idle");
  later(1);
  const auto states = *machine.poll("c9", {"b", "a", "never"});
  EXPECT_EQ(std::get<GrantReply>(states[0]).gpu, "g0");
  EXPECT_EQ(std::get<Ended>(states[1]).state, EndState::released);
  EXPECT_TRUE(std::holds_alternative<Unknown>(states[2]));
}

// --- renew, release

TEST_F(MachineTest, TheFirstRenewalClaimsAGrant) {
  join("g0");
  const auto first = take("a");
  waits("b");
  release(first);
  const auto grant = mailed_grant();
  EXPECT_EQ(machine.state().requests.at("b").state, RequestState::granted);
  EXPECT_TRUE(renews(grant));
  EXPECT_EQ(machine.state().requests.at("b").state, RequestState::held);
  later(4 * kSecond);
  EXPECT_EQ(sweep().unclaimed, 0U);
}

TEST_F(MachineTest, AnUnclaimedGrantGoesBackToItsRankAndTheGpuOn) {
  join("g0");
  const auto first = take("a");
  waits("b");
  waits("c");
  release(first);
  const auto grant = mailed_grant();
  later(3 * kSecond + 1);
  EXPECT_EQ(sweep().unclaimed, 1U);
  EXPECT_EQ(renewal(grant), LeaseErrc::requeued);
  EXPECT_EQ(machine.state().requests.at("b").attempts, 1);
  EXPECT_THAT(mailed(), ElementsAre("b"));  // its rank is kept: it is first again
}

TEST_F(MachineTest, TheThirdUnclaimedGrantIsTheLast) {
  join("g0");
  const auto first = take("a");
  waits("b");
  release(first);
  for (int i = 0; i < 3; ++i) {
    later(3 * kSecond + 1);
    beat("g0");  // sweeps
  }
  EXPECT_EQ(std::get<Ended>(ask("b")).state, EndState::dead);
  EXPECT_EQ(gpu_state("g0"), "idle");
}

TEST_F(MachineTest, TheLastRetryEndsTheRequestAndItsRepeatHearsTheSame) {
  join("g0");
  auto grant = take("a");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(release(grant, ReleaseAs::retry).has_value());
    ASSERT_TRUE(release(grant, ReleaseAs::retry).has_value());
    if (i == 2) break;
    beat("g0");
    machine.cleared("g0", "boot", grant.token, true);
    grant = mailed_grant();
  }
  EXPECT_EQ(std::get<Ended>(ask("a")).state, EndState::dead);
}

TEST_F(MachineTest, NobodyElsesTokenRenewsOrReleases) {
  join("g0");
  auto grant = take("a");
  grant.token.counter += 1;
  EXPECT_EQ(renewal(grant), LeaseErrc::not_holder);
  EXPECT_EQ(release(grant).error(), LeaseErrc::not_holder);
  EXPECT_EQ(machine.renew("nobody", {1, 1}).error(), LeaseErrc::unknown);
  EXPECT_EQ(machine.release("nobody", {1, 1}, ReleaseAs::clear).error(), LeaseErrc::unknown);
}

TEST_F(MachineTest, ARepeatedReleaseIsFineAndFreesNothingElse) {
  join("g0");
  const auto grant = take("a");
  EXPECT_TRUE(release(grant).has_value());
  const auto other = take("b");
  EXPECT_TRUE(release(grant).has_value());
  EXPECT_TRUE(renews(other));
}

TEST_F(MachineTest, NobodyHoldsBeyondTheLimitHoweverOftenItRenews) {
  join("g0");
  const auto grant = take("a");
  for (int i = 0; i < 23; ++i) {
    later(10 * kSecond);
    EXPECT_TRUE(renews(grant)) << i;
  }
  later(10 * kSecond);  // 240 s
  EXPECT_EQ(renewal(grant), LeaseErrc::hold_limit);
}

TEST_F(MachineTest, AnUnsureReleaseLeavesTheGpuToItsWorker) {
  join("g0");
  const auto grant = take("a");
  release(grant, ReleaseAs::unsure);
  EXPECT_EQ(gpu_state("g0"), "suspect");
  EXPECT_TRUE(waits("b"));
  EXPECT_EQ(std::get<Clear>(beat("g0")).token, grant.token);
  EXPECT_EQ(*machine.cleared("g0", "boot", grant.token, true), ClearedAnswer::ok);
  EXPECT_THAT(mailed(), ElementsAre("b"));
  EXPECT_EQ(*machine.cleared("g0", "boot", grant.token, true), ClearedAnswer::not_suspect);
}

TEST_F(MachineTest, ARetryWaitsAgainWithItsRankAndItsRepeatChangesNothing) {
  join("g0");
  const auto grant = take("a");
  waits("b");
  release(grant, ReleaseAs::retry);
  EXPECT_TRUE(release(grant, ReleaseAs::retry).has_value());
  EXPECT_EQ(machine.state().requests.at("a").attempts, 1);
  beat("g0");
  machine.cleared("g0", "boot", grant.token, true);
  EXPECT_THAT(mailed(), ElementsAre("a"));
}

// --- sweeping and clearing

TEST_F(MachineTest, AnOverdueLeaseIsTakenBackInTwoPhases) {
  join("g0");
  const auto grant = take("a");
  waits("b");
  for (int i = 0; i < 3; ++i) {
    later(4 * kSecond);
    beat("g0");
    machine.poll("c0", {"b"});
  }
  later(3 * kSecond - 10);
  EXPECT_EQ(sweep().suspect, 0U);  // not before ttl
  later(10);
  EXPECT_EQ(sweep().suspect, 1U);
  EXPECT_THAT(mailed(), ElementsAre());  // its worker has not confirmed
  EXPECT_EQ(renewal(grant), LeaseErrc::expired);
  EXPECT_TRUE(machine.state().requests.contains("a"));  // live until the GPU is clear
  beat("g0");
  machine.cleared("g0", "boot", grant.token, true);
  EXPECT_THAT(mailed(), ElementsAre("b"));
  EXPECT_EQ(std::get<Ended>(ask("a")).state, EndState::expired);
}

TEST_F(MachineTest, AHeartbeatSweepsToo) {
  join("g0");
  take("a");
  later(15 * kSecond + 1);
  EXPECT_TRUE(std::holds_alternative<Clear>(beat("g0")));
}

TEST_F(MachineTest, AGpuThatIsNotClearedIsQuarantined) {
  join("g0");
  const auto grant = take("a");
  release(grant, ReleaseAs::unsure);
  machine.cleared("g0", "boot", grant.token, false);
  EXPECT_EQ(gpu_state("g0"), "quarantined");
  EXPECT_TRUE(std::holds_alternative<Quarantined>(*join("g0")));
  EXPECT_TRUE(waits("b"));
  EXPECT_TRUE(*machine.requalify("g0", "boot"));
  join("g0");
  EXPECT_THAT(mailed(), ElementsAre("b"));
}

TEST_F(MachineTest, AGpuThatTakesLongerThanThirtySecondsIsQuarantined) {
  join("g0");
  release(take("a"), ReleaseAs::unsure);
  for (int i = 0; i < 9; ++i) {
    later(3 * kSecond);
    beat("g0");
  }
  EXPECT_EQ(sweep().quarantined, 0U);
  later(3 * kSecond + 100);
  EXPECT_EQ(sweep().quarantined, 1U);
}

TEST_F(MachineTest, AfterThreeFailuresASelfTestIsNotEnough) {
  for (int i = 0; i < 3; ++i) {
    join("g0");
    const auto grant = take("a" + std::to_string(i));
    release(grant, ReleaseAs::unsure);
    machine.cleared("g0", "boot", grant.token, false);
    EXPECT_EQ(*machine.requalify("g0", "boot"), i < 2);
  }
}

TEST_F(MachineTest, ASilentWorkerIsAbsentAndItsRequestWaitsAgain) {
  join("g0");
  const auto grant = take("a");
  later(5 * kSecond - 10);
  EXPECT_EQ(sweep().absent, 0U);
  later(10);
  EXPECT_EQ(sweep().absent, 1U);
  EXPECT_EQ(gpu_state("g0"), "absent");
  EXPECT_EQ(renewal(grant), LeaseErrc::requeued);
  join("g1");
  EXPECT_THAT(mailed(), ElementsAre("a"));
  EXPECT_TRUE(std::holds_alternative<MustRegister>(beat("g0")));
}

TEST_F(MachineTest, ASilentClientsRequestsAreCancelledButNotItsLease) {
  join("g0");
  take("a");
  waits("b");
  for (int i = 0; i < 4; ++i) {
    later(4 * kSecond);
    if (i < 3) machine.heartbeat("g0", "boot");
  }
  const auto counts = sweep();
  EXPECT_EQ(counts.silent, 1U);
  EXPECT_EQ(std::get<Ended>(ask("b")).state, EndState::cancelled);
}

TEST_F(MachineTest, APollKeepsAClientAlive) {
  waits("b");
  for (int i = 0; i < 10; ++i) {
    later(5 * kSecond);
    machine.poll("c0", {"b"});
    EXPECT_EQ(sweep().silent, 0U);
  }
}

TEST_F(MachineTest, AWaitThatIsTooLongTimesOut) {
  ask("old", "run", RequestClass::verify, "c0", true, 1800 * kSecond);
  ask("young", "run", RequestClass::verify, "c0", true, 1799 * kSecond - kSecond / 2);
  EXPECT_EQ(sweep().timed_out, 1U);
  EXPECT_EQ(std::get<Ended>(ask("old")).state, EndState::timeout);
  EXPECT_TRUE(waits("young"));
}

// --- register

TEST_F(MachineTest, ANewBootGivesItsRequestBackAndGetsTheNext) {
  join("g0");
  const auto grant = take("a");
  const auto answer = std::get<Registered>(*join("g0", "boot-2"));
  EXPECT_EQ(answer.newest, grant.token);  // what the registration itself grants is newer
  EXPECT_FALSE(answer.restored);
  const auto again = mailed_grant();
  EXPECT_EQ(again.request, "a");
  EXPECT_GT(again.token, answer.newest);
  EXPECT_TRUE(std::holds_alternative<BootReplaced>(beat("g0", "boot")));
}

TEST_F(MachineTest, ARunningLeaseIsRestoredAfterAnEmptyRestart) {
  Machine fresh{[](const std::string&) { return true; }};
  machine = std::move(fresh);
  server = "s2";
  at(now);
  machine.install(2, server, settings_from({}));
  const RunningLease running{
      RequestId("a"), {1, 7}, RunUid("run"), RequestClass::score, ClientId("c0")};
  EXPECT_TRUE(std::get<Registered>(*join("g0", "boot", running, {1, 7})).restored);
  EXPECT_EQ(gpu_state("g0"), "leased");
  EXPECT_TRUE(machine.renew("a", {1, 7}).has_value());
  EXPECT_TRUE(waits("b"));
  EXPECT_TRUE(machine.release("a", {1, 7}, ReleaseAs::clear).has_value());
  EXPECT_EQ(mailed_grant().token, (Token{2, 1}));
}

TEST_F(MachineTest, WorkThatNobodyMayUseAnyMoreIsClearedFirst) {
  join("g0");
  const auto grant = take("a");
  later(6 * kSecond);
  sweep();  // absent; the request waits again
  const RunningLease running{RequestId("a"), grant.token, RunUid("run"), RequestClass::verify,
                             ClientId("c0")};
  EXPECT_FALSE(std::get<Registered>(*join("g0", "boot", running)).restored);
  EXPECT_EQ(gpu_state("g0"), "suspect");
  EXPECT_EQ(std::get<Clear>(beat("g0")).token, grant.token);
}

// --- cancel, forget

TEST_F(MachineTest, CancelTakesOutWhatWaitsAndGivesAnUnclaimedGpuOn) {
  join("g0");
  const auto grant = take("a");
  waits("b");
  waits("c");
  waits("d");
  later(1);
  EXPECT_EQ(*machine.cancel("c"), CancelAnswer::ok);
  EXPECT_EQ(*machine.cancel("a"), CancelAnswer::held);
  release(grant);
  EXPECT_THAT(mailed(), ElementsAre("b"));
  later(1);
  EXPECT_EQ(*machine.cancel("b"), CancelAnswer::ok);
  EXPECT_THAT(mailed(), ElementsAre("d"));
  EXPECT_EQ(*machine.cancel("b"), CancelAnswer::ok);
}

TEST_F(MachineTest, AForgottenGpuGivesItsRequestBack) {
  join("g0");
  take("a");
  EXPECT_TRUE(machine.forget_gpu(1, "g0").has_value());
  EXPECT_TRUE(machine.state().gpus.empty());
  EXPECT_TRUE(waits("a"));
}

TEST_F(MachineTest, AForgottenRunLeavesTheQueue) {
  waits("a", "run1");
  waits("b", "run2");
  EXPECT_TRUE(machine.forget_run(1, "run1").has_value());
  EXPECT_EQ(std::get<Ended>(ask("a", "run1")).state, EndState::cancelled);
  EXPECT_FALSE(machine.state().runs.contains("run1"));
  EXPECT_TRUE(waits("b", "run2"));
}

// --- fairness

TEST_F(MachineTest, RunsTakeTurnsByVirtualTimeWhateverTheyAskFor) {
  join("g0");
  auto grant = take("first", "greedy");
  for (int i = 0; i < 20; ++i) waits("g" + std::to_string(i), "greedy", RequestClass::score);
  for (int i = 0; i < 20; ++i) waits("m" + std::to_string(i), "modest", RequestClass::profile);
  std::map<char, int> turns;
  for (int i = 0; i < 20; ++i) {
    later(kSecond);
    release(grant);
    grant = mailed_grant();
    turns[grant.request[0]] += 1;
    renews(grant);
  }
  EXPECT_NEAR(turns['g'], 10, 1);
  EXPECT_NEAR(turns['m'], 10, 1);
}

TEST_F(MachineTest, ARunWithTwiceTheWeightGetsTwiceTheTime) {
  join("g0");
  auto grant = take("first", "light");
  const auto enter = [&](const std::string& request, const std::string& run, double weight) {
    later(1);
    HoldAsk wanted;
    wanted.request = RequestId(request);
    wanted.run = RunUid(run);
    wanted.weight = weight;
    std::ignore = machine.acquire(wanted, "c0", 0, true);
  };
  for (int i = 0; i < 40; ++i) enter("h" + std::to_string(i), "heavy", 2);
  for (int i = 0; i < 40; ++i) enter("l" + std::to_string(i), "light", 1);
  std::map<char, int> turns;
  for (int i = 0; i < 30; ++i) {
    later(kSecond);
    release(grant);
    grant = mailed_grant();
    turns[grant.request[0]] += 1;
    renews(grant);
  }
  EXPECT_NEAR(turns['h'], 20, 2);
  EXPECT_NEAR(turns['l'], 10, 2);
}

TEST_F(MachineTest, InsideARunAScoreOvertakesOnlyRequestsLessThanAMinuteOlder) {
  join("g0");
  const auto grant = take("first");
  ask("old profile", "run", RequestClass::profile, "c0", true, 61 * kSecond);
  ask("profile", "run", RequestClass::profile, "c0", true, 59 * kSecond);
  waits("score", "run", RequestClass::score);
  EXPECT_EQ(std::get<Waiting>(ask("old profile")).ahead, 0U);
  EXPECT_EQ(std::get<Waiting>(ask("score")).ahead, 1U);
  EXPECT_EQ(std::get<Waiting>(ask("profile")).ahead, 2U);
  release(grant);
  EXPECT_THAT(mailed(), ElementsAre("old profile"));
}

TEST_F(MachineTest, IdlingEarnsNoCredit) {
  join("g0");
  release(take("early", "idle-run"));
  for (int i = 0; i < 20; ++i) {  // alone for 200 seconds
    const auto grant = take("b" + std::to_string(i), "busy");
    later(10 * kSecond);
    release(grant);
    beat("g0");
  }
  auto grant = take("last", "busy");
  for (int i = 0; i < 12; ++i) waits("i" + std::to_string(i), "idle-run");
  for (int i = 0; i < 12; ++i) waits("c" + std::to_string(i), "busy");
  std::map<char, int> turns;
  for (int i = 0; i < 12; ++i) {
    later(10 * kSecond);
    beat("g0");
    release(grant);
    grant = mailed_grant();
    renews(grant);
    turns[grant.request[0]] += 1;
  }
  EXPECT_NEAR(turns['i'], 6, 2);
}

TEST_F(MachineTest, ASnapshotCountsWhatWaitsAndWhatIsLeased) {
  join("g0");
  join("g1");
  take("a");
  release(take("b"), ReleaseAs::unsure);
  waits("c");
  later(2 * kSecond);
  const auto shot = *machine.snapshot();
  EXPECT_EQ(shot.leased, 1U);
  EXPECT_EQ(shot.waiting, 1U);
  EXPECT_EQ(shot.oldest_wait, 2000ms);
  EXPECT_EQ(shot.counters.at("granted"), 2U);
  EXPECT_EQ(shot.counter, 2U);
  ASSERT_EQ(shot.gpus.size(), 2U);
  EXPECT_EQ(shot.gpus[0].state + " " + shot.gpus[1].state, "suspect leased");
}

}  // namespace
}  // namespace swage::lease
