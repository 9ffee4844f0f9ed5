#include "controller/app/sandboxes.hpp"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.hpp"
#include "tests/support/task_runner.hpp"

namespace swage::controller {
namespace {

/// Pods of which only the end is asked for here.
class Pods final : public PodBackend {
 public:
  Task<std::vector<LivePod>> adopt(StopSource&) override { co_return std::vector<LivePod>(); }
  Task<Result<void, PodError>> create(PodSpec) override { co_return Result<void, PodError>(); }
  Task<Result<void, PodError>> claim(std::string, std::string, std::string) override {
    co_return Result<void, PodError>();
  }
  Task<Result<void, PodError>> remove(std::string name, std::string,
                                      std::chrono::milliseconds) override {
    removed.push_back(std::move(name));
    co_return Result<void, PodError>();
  }
  Task<std::optional<PodEvent>> next_event(StopSource&) override { co_return std::nullopt; }
  std::vector<std::string> removed;
};

class Layout final : public RunLayout {
 public:
  std::vector<DesiredPod> desired_pods() const override { return {}; }
  std::string pod_config(const std::string&, Component) const override { return "{}"; }
  std::string sandbox_config(const std::string&, const std::string&, const std::string&,
                             unsigned) const override {
    return "{}";
  }
  std::string address_of(const std::string& pod) const override { return pod + ":7070"; }
  std::string learner_address() const override { return ""; }
};

class SandboxesTest : public testing::Test {
 protected:
  SandboxesTest() {
    sandboxes_.adopt({"sbx-a", "a", Component::sandbox, false});
    EXPECT_FALSE(sandboxes_.observed(event(PodPhase::ready)));
  }
  ~SandboxesTest() override {
    stop_.request(StopReason::requested);
    run_(gate_.join());
  }
  static PodEvent event(PodPhase phase, std::optional<int> code = {}) {
    return {"sbx-a", "a", Component::sandbox, phase, code, ""};
  }

  test::TaskRunner run_;
  test::FakeClock clock_;
  StopSource stop_;
  Gate gate_{run_.executor(), stop_};
  Pods pods_;
  Layout layout_;
  TrainingRun spec_;
  Sandboxes sandboxes_{pods_, layout_, spec_, 20, clock_, gate_, "key", [](PodError) {}};
};

TEST_F(SandboxesTest, AnEndThatNobodyAskedForIsTold) {
  EXPECT_TRUE(sandboxes_.observed(event(PodPhase::failed, 69)));
}

TEST_F(SandboxesTest, HowASandboxEndsThatWasToldToIsNoFault) {
  run_(sandboxes_.end_all(std::chrono::milliseconds(0)));
  EXPECT_EQ(pods_.removed, std::vector<std::string>{"sbx-a"});
  EXPECT_FALSE(sandboxes_.observed(event(PodPhase::failed, 69)));
}

}  // namespace
}  // namespace swage::controller
