#include <gmock/gmock.h>

#include <algorithm>

#include "tests/integration/controller/pod_world.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

struct Kind {
  const char* name;
  MakeWorld make;
};

/// What every PodBackend does, whatever its pods are: processes here, a scripted API server that
/// loses answers, or a real cluster.
class PodContract : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    std::string why;
    world_ = GetParam().make(run_, why);
    if (!world_) GTEST_SKIP() << why;
    world_->let(Component::policy, Play::serves);
  }
  void TearDown() override {
    if (world_) world_->close();
  }
  PodBackend& backend() { return world_->backend(); }
  Result<void, PodError> create(const std::string& name, Component component = Component::policy,
                                const std::string& uid = "") {
    return run_(backend().create({name, uid.empty() ? name + "-uid" : uid, component, "{}\n"}),
                60s);
  }
  Result<void, PodError> remove(const std::string& name, const std::string& uid,
                                std::chrono::milliseconds grace = 2s) {
    return run_(backend().remove(name, uid, grace), 60s);
  }
  /// Skips to the first event of that phase.
  PodEvent until(PodPhase phase) {
    while (true) {
      auto event = run_(backend().next_event(stop_), 60s);
      if (!event || event->phase == phase) return event.value_or(PodEvent{});
    }
  }
  PodEvent until_ended() {
    while (true) {
      auto event = run_(backend().next_event(stop_), 60s);
      if (!event || event->phase == PodPhase::failed || event->phase == PodPhase::succeeded)
        return event.value_or(PodEvent{});
    }
  }

  test::TaskRunner run_;
  StopSource stop_;
  std::unique_ptr<PodWorld> world_;
};

TEST_P(PodContract, APodIsSaidToRunAndThenToBeReadyUnderItsNameAndUid) {
  ASSERT_TRUE(create("a"));
  const auto ready = until(PodPhase::ready);
  EXPECT_EQ(ready.name, "a");
  EXPECT_EQ(ready.uid, "a-uid");
  EXPECT_EQ(ready.component, Component::policy);
  EXPECT_NE(ready.http_port, 0);
}

TEST_P(PodContract, HowAPodEndedIsToldAndItsNameIsFreeThen) {
  world_->let(Component::learner, Play::ends_with_3);
  world_->let(Component::sandbox, Play::ends_well);
  ASSERT_TRUE(create("bad", Component::learner));
  const auto failed = until(PodPhase::failed);
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_THAT(failed.detail, HasSubstr("exit code 3"));
  ASSERT_TRUE(create("good", Component::sandbox));
  EXPECT_EQ(until(PodPhase::succeeded).exit_code, 0);
  const auto again = create("bad", Component::learner, "bad-uid-2");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(until(PodPhase::failed).uid, "bad-uid-2");
}

TEST_P(PodContract, APodThatIsTakenAwayHasFailedWithoutAnExitCode) {
  ASSERT_TRUE(create("a"));
  world_->take_away("a", until(PodPhase::ready));
  const auto failed = until(PodPhase::failed);
  EXPECT_EQ(failed.uid, "a-uid");
  EXPECT_EQ(failed.exit_code, std::nullopt);
  EXPECT_FALSE(failed.detail.empty());
}

TEST_P(PodContract, ANameThatIsTakenIsRefusedAndThePodUnderItLivesOn) {
  ASSERT_TRUE(create("a"));
  until(PodPhase::ready);
  const auto second = create("a", Component::policy, "another-uid");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, PodErrc::refused);
  EXPECT_TRUE(remove("a", "a-uid"));
}

TEST_P(PodContract, RemoveReturnsWhenThePodIsGoneAndItsEndIsToldToo) {
  ASSERT_TRUE(create("a"));
  until(PodPhase::ready);
  ASSERT_TRUE(remove("a", "a-uid"));
  EXPECT_TRUE(create("a", Component::policy, "a-uid-2"));  // at once: the name is free
  EXPECT_EQ(until_ended().uid, "a-uid");
  EXPECT_EQ(until(PodPhase::ready).uid, "a-uid-2");
}

TEST_P(PodContract, AYoungPodCanBeRemovedBeforeAnythingWasHeardOfIt) {
  ASSERT_TRUE(create("a"));
  EXPECT_TRUE(remove("a", "a-uid", 0s));
  EXPECT_EQ(until_ended().uid, "a-uid");
}

TEST_P(PodContract, APodOfAnotherUidIsLeftAlone) {
  ASSERT_TRUE(create("a"));
  until(PodPhase::ready);
  const auto removed = remove("a", "other");
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, PodErrc::not_found);
  const auto absent = remove("nobody", "x");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, PodErrc::not_found);
  EXPECT_FALSE(create("a", Component::policy, "again"));  // it is there still
}

TEST_P(PodContract, APodThatIgnoresTheEndIsEndedByForceAfterItsGrace) {
  world_->let(Component::learner, Play::ignores_the_end);
  ASSERT_TRUE(create("a", Component::learner));
  until(PodPhase::ready);
  const auto asked = std::chrono::steady_clock::now();
  ASSERT_TRUE(remove("a", "a-uid", 1s));
  EXPECT_GE(std::chrono::steady_clock::now() - asked, 900ms);
  EXPECT_EQ(until(PodPhase::failed).uid, "a-uid");
}

TEST_P(PodContract, APodIsClaimedOnceAndOnlyWhileItIsThere) {
  ASSERT_TRUE(create("a", Component::policy));
  until(PodPhase::ready);
  EXPECT_EQ(run_(backend().claim("a", "other", "r1")).error().code, PodErrc::not_found);
  const auto claimed = run_(backend().claim("a", "a-uid", "r1"));
  ASSERT_TRUE(claimed) << claimed.error().message;
  const auto again = run_(backend().claim("a", "a-uid", "r2"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, PodErrc::lost);
  ASSERT_TRUE(remove("a", "a-uid"));
  EXPECT_EQ(run_(backend().claim("a", "a-uid", "r3")).error().code, PodErrc::not_found);
}

TEST_P(PodContract, NobodyIsAdoptedWhereNobodyWasAndWaitingEndsWithItsStop) {
  EXPECT_TRUE(run_(backend().adopt(stop_), 60s).empty());
  StopSource stop;
  const auto waiting = run_.start(backend().next_event(stop));
  EXPECT_FALSE(waiting->ended);
  stop.request(StopReason::requested);
  EXPECT_TRUE(run_.wait_until([&] { return waiting->ended; }));
  EXPECT_EQ(waiting->value(), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, PodContract,
                         ::testing::Values(Kind{"local", &make_local_world},
                                           Kind{"fake_api_server", &make_fake_cluster_world},
                                           Kind{"cluster", &make_cluster_world}),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace swage::controller
