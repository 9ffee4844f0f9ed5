#include <signal.h>

#include <filesystem>

#include "common/asio/clock.hpp"
#include "controller/adapters/local_pod_backend.hpp"
#include "tests/integration/controller/pod_world.hpp"
#include "tests/support/signal_process.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::controller {
namespace {

constexpr const char* kReady =
    "printf '{\"pid\": %d, \"http_port\": 7}' $$ > $1.tmp; mv $1.tmp ${1%.conf}.ready; ";

/// Pods are processes of this machine: shell scripts.
class LocalWorld final : public PodWorld {
 public:
  explicit LocalWorld(test::TaskRunner& run) : run_(run) {
    for (const auto* folder : {"pods", "logs"})
      std::filesystem::create_directories(directory_.path() / folder);
    settings_.pods = directory_.path() / "pods";
    settings_.logs = directory_.path() / "logs";
  }
  PodBackend& backend() override {
    if (!backend_) {
      auto made = make_local_pod_backend(run_.executor(), *clock_, settings_);
      EXPECT_TRUE(made);
      backend_ = std::move(*made);
    }
    return *backend_;
  }
  void close() override {
    if (backend_) run_(backend_->close());
  }
  void let(Component component, Play play) override {
    std::string script = "exec sleep 1000";
    if (play == Play::serves) script = std::string(kReady) + "exec sleep 1000";
    if (play == Play::ends_well) script = "exit 0";
    if (play == Play::ends_with_3) script = "exit 3";
    if (play == Play::ignores_the_end)
      script = "trap '' TERM; " + std::string(kReady) + "while :; do sleep 0.05; done";
    settings_.programs[component] = {"/bin/sh", "-c", script, "pod"};
    backend_.reset();  // settings are taken at the start
  }
  void take_away(const std::string&, const PodEvent& ready) override {
    test::signal_process(static_cast<pid_t>(ready.pid), SIGKILL);
  }

 private:
  test::TaskRunner& run_;
  test::TempDirectory directory_;
  std::unique_ptr<Clock> clock_ = make_steady_clock();
  LocalBackendSettings settings_;
  std::unique_ptr<LocalPodBackend> backend_;
};

}  // namespace

std::unique_ptr<PodWorld> make_local_world(test::TaskRunner& run, std::string&) {
  return std::make_unique<LocalWorld>(run);
}

}  // namespace swage::controller
