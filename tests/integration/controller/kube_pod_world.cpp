#include <map>

#include "common/base/digest.hpp"
#include "common/base/files.hpp"
#include "controller/adapters/kube_pod_backend.hpp"
#include "controller/adapters/kube_pod_facts.hpp"
#include "tests/integration/controller/pod_world.hpp"
#include "tests/support/fake_pods.hpp"

namespace swage::controller {
namespace {

using namespace std::chrono_literals;
using k8s::Json;
using test::FakePods;

Json metadata(const PodSpec& spec) {
  return {{"name", spec.name},
          {"labels",
           {{"swage.dev/run-uid", "contract"},
            {kIncarnationLabel, spec.uid},
            {kComponentLabel, component_name(spec.component)}}}};
}

/// The scripted API server with a kubelet that plays its pods.
class FakeWorld final : public PodWorld {
 public:
  explicit FakeWorld(test::TaskRunner& run) : run_(run) {
    KubePodSettings settings;
    settings.name_space = "ns";
    settings.selector = "swage.dev/run-uid=contract";
    settings.manifest = [this](const PodSpec& spec) { return manifest(spec); };
    backend_ = make_kube_pod_backend(run.executor(), client_, std::move(settings));
  }
  ~FakeWorld() override { pods_.stop(); }
  PodBackend& backend() override { return *backend_; }
  void close() override {
    run_(backend_->close());
    pods_.stop();
  }
  void let(Component component, Play play) override { plays_[component] = play; }
  void take_away(const std::string& name, const PodEvent&) override { pods_.evict(name); }

 private:
  Json manifest(const PodSpec& spec) const {
    Json pod{{"metadata", metadata(spec)}};
    const auto play = plays_.at(spec.component);
    pod["metadata"]["labels"]["test/play"] = std::to_string(static_cast<int>(play));
    return play == Play::ignores_the_end ? FakePods::stubborn(std::move(pod)) : pod;
  }
  static std::vector<Json> kubelet(const Json& pod) {
    const auto play =
        static_cast<Play>(std::stoi(pod["metadata"]["labels"]["test/play"].get<std::string>()));
    if (play == Play::ends_well) return {FakePods::running(), FakePods::ended(0)};
    if (play == Play::ends_with_3) return {FakePods::running(), FakePods::ended(3)};
    return {FakePods::running(), FakePods::ready()};
  }

  test::TaskRunner& run_;
  std::unique_ptr<Clock> clock_ = make_steady_clock();
  test::FakeApiServer server_;
  FakePods pods_{server_, "ns", &FakeWorld::kubelet};
  std::unique_ptr<k8s::Transport> transport_ = k8s::make_rest_transport(server_.config(), *clock_);
  k8s::Client client_{*transport_, *clock_};
  std::map<Component, Play> plays_;
  std::unique_ptr<KubePodBackend> backend_;
};

/// Pods of the test cluster (tests/cluster) in a namespace of their own: busybox on its real node.
class ClusterWorld final : public PodWorld {
 public:
  ClusterWorld(test::TaskRunner& run, const k8s::Config& config) : run_(run) {
    transport_ = k8s::make_rest_transport(config, *clock_);
    client_ = std::make_unique<k8s::Client>(*transport_, *clock_);
    space_ = "pods-" + to_hex(random_bytes(4));
    const Json named{{"metadata", {{"name", space_}}}};
    EXPECT_TRUE(run_(client_->create({kNamespaces, ""}, named, soon(), stop_)));
    const k8s::Target account{{"", "v1", "serviceaccounts", "ServiceAccount"}, space_, "default"};
    while (!run_(client_->get(account, soon(), stop_))) run_(clock_->sleep_for(50ms, stop_));
    KubePodSettings settings;
    settings.name_space = space_;
    settings.selector = "swage.dev/run-uid=contract";
    settings.manifest = [this](const PodSpec& spec) { return manifest(spec); };
    backend_ = make_kube_pod_backend(run.executor(), *client_, std::move(settings));
  }
  PodBackend& backend() override { return *backend_; }
  void close() override {
    run_(backend_->close());
    EXPECT_TRUE(run_(client_->remove({kNamespaces, "", space_}, {}, soon(), stop_)));
  }
  void let(Component component, Play play) override { plays_[component] = play; }
  void take_away(const std::string& name, const PodEvent&) override {
    k8s::RemoveOptions now;
    now.grace = 0;
    EXPECT_TRUE(
        run_(client_->remove({{"", "v1", "pods", "Pod"}, space_, name}, now, soon(), stop_)));
  }

 private:
  static constexpr const char* kServe = "touch /tmp/ready; trap 'exit 0' TERM; ";
  TimePoint soon() { return clock_->now() + 20s; }
  Json manifest(const PodSpec& spec) const {
    const auto play = plays_.at(spec.component);
    std::string script = std::string(kServe) + "while :; do sleep 0.1; done";
    if (play == Play::ends_well) script = "exit 0";
    if (play == Play::ends_with_3) script = "exit 3";
    if (play == Play::ignores_the_end)
      script = "touch /tmp/ready; trap '' TERM; while :; do sleep 0.1; done";
    Json container{{"name", "main"},
                   {"image", "swage.test/busybox:1"},
                   {"imagePullPolicy", "Never"},
                   {"command", {"sh", "-c", script}}};
    container["readinessProbe"] = {{"exec", {{"command", {"cat", "/tmp/ready"}}}},
                                   {"periodSeconds", 1}};
    Json pod{{"metadata", metadata(spec)}};
    pod["spec"] = {{"restartPolicy", "Never"}, {"containers", Json::array({container})}};
    return pod;
  }

  const k8s::ResourceType kNamespaces{"", "v1", "namespaces", "Namespace", false};
  test::TaskRunner& run_;
  std::unique_ptr<Clock> clock_ = make_steady_clock();
  StopSource stop_;
  std::unique_ptr<k8s::Transport> transport_;
  std::unique_ptr<k8s::Client> client_;
  std::string space_;
  std::map<Component, Play> plays_;
  std::unique_ptr<KubePodBackend> backend_;
};

}  // namespace

std::unique_ptr<PodWorld> make_fake_cluster_world(test::TaskRunner& run, std::string&) {
  return std::make_unique<FakeWorld>(run);
}

std::unique_ptr<PodWorld> make_cluster_world(test::TaskRunner& run, std::string& why) {
  const auto file =
      environment_or("SWAGE_CLUSTER_DIR", "/var/tmp/swage-test-cluster") + "/kubeconfig";
  const auto config = k8s::kubeconfig(file);
  if (config) return std::make_unique<ClusterWorld>(run, *config);
  why = "no test cluster is up: make cluster-up";
  return nullptr;
}

}  // namespace swage::controller
