#include <gmock/gmock.h>

#include "controller/adapters/kube_pod_backend.hpp"
#include "controller/adapters/kube_pod_facts.hpp"
#include "tests/support/fake_pods.hpp"
#include "tests/support/task_runner.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using k8s::Json;
using test::FakePods;
using ::testing::HasSubstr;

/// What goes wrong between the controller and the API server.
class KubePodFaults : public ::testing::Test {
 protected:
  struct Leader {
    Leader(test::TaskRunner& run, test::FakeApiServer& server, Clock& clock)
        : transport(k8s::make_rest_transport(server.config(), clock)), client(*transport, clock) {
      KubePodSettings settings;
      settings.name_space = "ns";
      settings.selector = "swage.dev/run-uid=u";
      settings.manifest = [](const PodSpec& spec) {
        Json labels{{kIncarnationLabel, spec.uid},
                    {kComponentLabel, component_name(spec.component)}};
        return Json{{"metadata", {{"name", spec.name}, {"labels", labels}}}};
      };
      backend = make_kube_pod_backend(run.executor(), client, std::move(settings));
    }
    std::unique_ptr<k8s::Transport> transport;
    k8s::Client client;
    std::unique_ptr<KubePodBackend> backend;
  };

  void TearDown() override {
    run_(first_.backend->close());
    if (second_) run_(second_->backend->close());
    pods_.stop();
  }
  Leader& second() {
    if (!second_) second_.emplace(run_, server_, *clock_);
    return *second_;
  }
  auto create(const std::string& name) {
    return run_(first_.backend->create({name, name + "-uid", Component::sandbox, "{}"}));
  }
  PodEvent next() { return run_(first_.backend->next_event(stop_)).value_or(PodEvent{}); }
  PodEvent until(PodPhase phase) {
    auto event = next();
    while (event.phase != phase) event = next();
    return event;
  }

  test::TaskRunner run_;
  StopSource stop_;
  std::unique_ptr<Clock> clock_ = make_steady_clock();
  test::FakeApiServer server_;
  FakePods pods_{server_, "ns", [](const Json&) {
                   return std::vector<Json>{FakePods::running(), FakePods::ready()};
                 }};
  Leader first_{run_, server_, *clock_};
  std::optional<Leader> second_;
};

TEST_F(KubePodFaults, ACreationWhoseAnswerIsLostIsAdoptedByItsNameAndNotMadeTwice) {
  pods_.lose_next_answer();
  const auto made = create("a");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(until(PodPhase::ready).uid, "a-uid");
  EXPECT_EQ(pods_.size(), 1U);
}

TEST_F(KubePodFaults, OfTwoLeadersOneGetsASandbox) {
  ASSERT_TRUE(create("a"));
  until(PodPhase::ready);
  ASSERT_EQ(run_(second().backend->adopt(stop_)).size(), 1U);
  const auto one = run_.start(first_.backend->claim("a", "a-uid", "r1"));
  const auto two = run_.start(second().backend->claim("a", "a-uid", "r2"));
  ASSERT_TRUE(run_.wait_until([&] { return one->ended && two->ended; }));
  EXPECT_NE(one->value().has_value(), two->value().has_value());
  const auto& loser = one->value() ? two->value() : one->value();
  EXPECT_EQ(loser.error().code, PodErrc::lost);
}

TEST_F(KubePodFaults, AClaimOutlivesAChangeOfThePodsStatus) {
  ASSERT_TRUE(create("a"));
  until(PodPhase::ready);
  pods_.set_status("a", FakePods::running());  // the copy has not seen it yet
  const auto claimed = run_(first_.backend->claim("a", "a-uid", "r1"));
  ASSERT_TRUE(claimed) << claimed.error().message;
  EXPECT_EQ(pods_.pod("a")["metadata"]["annotations"][kRolloutAnnotation], "r1");
}

TEST_F(KubePodFaults, TheNextLeaderFindsThePodsAndWhichOfThemAreInUse) {
  ASSERT_TRUE(create("a"));
  ASSERT_TRUE(create("b"));
  until(PodPhase::ready);
  until(PodPhase::ready);
  ASSERT_TRUE(run_(first_.backend->claim("b", "b-uid", "r1")));
  const auto found = run_(second().backend->adopt(stop_));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].uid, "a-uid");
  EXPECT_FALSE(found[0].claimed);
  EXPECT_EQ(found[1].uid, "b-uid");
  EXPECT_TRUE(found[1].claimed);
}

TEST_F(KubePodFaults, AWatchThatBreaksLosesNoEventAndRepeatsNone) {
  ASSERT_TRUE(create("a"));
  until(PodPhase::ready);
  pods_.cut_watches();
  pods_.evict("a");
  const auto failed = until(PodPhase::failed);
  EXPECT_EQ(failed.reason, "Deleted");
  ASSERT_TRUE(create("b"));
  EXPECT_EQ(next().name, "b");
}

TEST_F(KubePodFaults, AQuotaThatIsSpentIsARefusalWithItsReasonAndRemedy) {
  pods_.refuse_creates("pods \"a\" is forbidden: exceeded quota: compute, requested: pods=1");
  const auto refused = create("a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "QuotaExceeded");
  EXPECT_THAT(refused.error().message, HasSubstr("raise the namespace's quota"));
  pods_.refuse_creates("");
  EXPECT_TRUE(create("a"));
}

TEST_F(KubePodFaults, WhatKeepsAPodFromStartingIsToldAndSoIsThatItStartedAfterAll) {
  ASSERT_TRUE(create("a"));
  until(PodPhase::ready);
  pods_.set_status("a", FakePods::waiting("ImagePullBackOff", "no such image"));
  const auto stuck = until(PodPhase::pending);
  EXPECT_EQ(stuck.reason, "ImagePullBackOff");
  EXPECT_THAT(stuck.detail, HasSubstr("check the image's name"));
  pods_.set_status("a", FakePods::ready());
  EXPECT_EQ(until(PodPhase::ready).reason, "");
}

TEST(PodFacts, APodThatNoNodeTakesSaysSoWithTheRemedy) {
  const Json unscheduled{{"type", "PodScheduled"},
                         {"status", "False"},
                         {"reason", "Unschedulable"},
                         {"message", "0/17 nodes are available"}};
  const auto facts = PodFacts::from(
      {{"status", {{"phase", "Pending"}, {"conditions", Json::array({unscheduled})}}}});
  EXPECT_EQ(facts.phase(), PodPhase::pending);
  EXPECT_EQ(facts.reason, "Unschedulable");
  EXPECT_THAT(facts.detail, HasSubstr("add nodes"));
}

TEST(PodFacts, OfTwoContainersTheOneThatFailedIsTheReason) {
  const auto container = [](const char* name, int code) {
    return Json{{"name", name}, {"state", {{"terminated", {{"exitCode", code}}}}}};
  };
  const auto facts = PodFacts::from(
      {{"status",
        {{"phase", "Failed"},
         {"containerStatuses", Json::array({container("a", 0), container("b", 69)})}}}});
  EXPECT_EQ(facts.exit_code, 69);
  EXPECT_EQ(facts.phase(), PodPhase::failed);
}

TEST(PodFacts, AProcessKilledByASignalOrForItsMemoryHasNoExitCode) {
  const auto with = [](Json ended) {
    const Json container{{"name", "a"}, {"state", {{"terminated", std::move(ended)}}}};
    return PodFacts::from(
        {{"status", {{"phase", "Failed"}, {"containerStatuses", Json::array({container})}}}});
  };
  const auto killed = with({{"exitCode", 137}, {"reason", "Error"}});
  EXPECT_EQ(killed.exit_code, std::nullopt);
  EXPECT_THAT(killed.detail, HasSubstr("signal 9"));
  EXPECT_EQ(killed.phase(), PodPhase::failed);
  EXPECT_THAT(with({{"exitCode", 137}, {"reason", "OOMKilled"}}).detail,
              HasSubstr("raise resources.limits.memory"));
}

}  // namespace
}  // namespace swage::controller
