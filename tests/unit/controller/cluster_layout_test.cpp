#include "controller/adapters/cluster_layout.hpp"

#include <gmock/gmock.h>

#include "common/base/files.hpp"
#include "controller/adapters/kube_pod_facts.hpp"
#include "controller/adapters/pod_parts.hpp"
#include "controller/adapters/run_file.hpp"
#include "tests/support/temp_directory.hpp"

namespace swage::controller {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kFile = R"(
apiVersion: swage.dev/v1alpha1
kind: TrainingRun
metadata: {name: quickstart, namespace: team}
spec:
  preset: OneMachine
  deviceKind: cpu
  model: {source: "scratch:tiny"}
  tasks: [{set: builtin-cpu}]
  learner: {storage: {size: 5Gi, retain: false}, resources: {limits: {cpu: "3"}}}
  sandbox: {resources: {sandboxd: {requests: {cpu: 20m}}}}
  evaluation: {poolRef: {name: local, namespace: gpus}, allowReducedTrust: true}
---
apiVersion: swage.dev/v1alpha1
kind: ProfilingPool
metadata: {name: local, namespace: gpus}
spec: {deviceKind: cpu, scaling: {mode: Fixed}, replicas: 1}
)";

class ClusterLayoutTest : public ::testing::Test {
 protected:
  ClusterLayoutTest() {
    for (const auto component : {Component::rollout_worker, Component::policy, Component::learner,
                                 Component::gpu_worker, Component::sandbox})
      settings_.images[component] = std::string("registry/") + component_name(component) + ":1";
    settings_.service = "swage-controller.swage.svc.cluster.local:7070";
  }
  json pod(const std::string& name, Component component) const {
    const auto config = component == Component::sandbox
                            ? layout_.sandbox_config(name, "inc", "token", 0)
                            : layout_.pod_config(name, component);
    return layout_.manifest({name, "inc", component, config});
  }
  static json config_of(const json& pod) {
    return json::parse(pod["metadata"]["annotations"][kConfigAnnotation].get<std::string>());
  }
  static bool mounts(const json& pod, const std::string& path) {
    for (const auto& mount : pod["spec"]["containers"][0]["volumeMounts"])
      if (mount["mountPath"] == path) return true;
    return false;
  }
  /// What Pod Security `restricted` asks of a pod.
  static void expect_restricted(const json& pod) {
    const auto& own = pod["spec"]["securityContext"];
    EXPECT_EQ(own["runAsNonRoot"], true);
    EXPECT_EQ(own["seccompProfile"]["type"], "RuntimeDefault");
    const auto& container = pod["spec"]["containers"][0]["securityContext"];
    EXPECT_EQ(container["allowPrivilegeEscalation"], false);
    EXPECT_EQ(container["readOnlyRootFilesystem"], true);
    EXPECT_EQ(container["capabilities"]["drop"], json::array({"ALL"}));
  }

  ClusterSettings settings_;
  RunFile file_ = *parse_run_file(kFile, "test.yaml");
  OwnerRef run_{"TrainingRun", "quickstart", "team", "0123456789abcdef"};
  ClusterLayout layout_{settings_, file_, run_, "redis.swage.svc.cluster.local:6379"};
};

TEST_F(ClusterLayoutTest, TheRunHasALearnerItsPolicyServersAndItsRolloutWorkers) {
  std::vector<std::string> names;
  for (const auto& pod : layout_.desired_pods()) names.push_back(pod.name);
  EXPECT_THAT(names, ::testing::ElementsAre("quickstart-learner-0", "quickstart-policy-0",
                                            "quickstart-rollout-0", "quickstart-rollout-1"));
}

TEST_F(ClusterLayoutTest, EveryPodBelongsToTheRunAndIsRestricted) {
  for (const auto& [name, component] : {std::pair{"quickstart-learner-0", Component::learner},
                                        {"quickstart-policy-0", Component::policy},
                                        {"quickstart-rollout-0", Component::rollout_worker},
                                        {"sbx-quickstart-0123456789abcdef", Component::sandbox}}) {
    const auto made = pod(name, component);
    EXPECT_EQ(made["metadata"]["ownerReferences"][0]["uid"], run_.uid);
    EXPECT_EQ(made["metadata"]["ownerReferences"][0]["controller"], true);
    EXPECT_EQ(made["metadata"]["labels"][kIncarnationLabel], "inc");
    EXPECT_EQ(made["metadata"]["labels"][kRunUidLabel], run_.uid);
    EXPECT_EQ(made["spec"]["automountServiceAccountToken"], false);
    EXPECT_EQ(made["spec"]["restartPolicy"], "Never");
    expect_restricted(made);
    EXPECT_EQ(config_of(made)["name"], name);
  }
}

TEST_F(ClusterLayoutTest, OthersAreDialledByTheNamesOfHeadlessServices) {
  const auto worker = config_of(pod("quickstart-rollout-0", Component::rollout_worker));
  EXPECT_EQ(worker["controller"], settings_.service);
  EXPECT_EQ(worker["learner"], "quickstart-learner-0.quickstart.team.svc.cluster.local:7070");
  EXPECT_EQ(worker["redis"]["address"], "redis.swage.svc.cluster.local:6379");
  EXPECT_EQ(worker["pool"], "gpus.local");
  const auto service = service_object(run_);
  EXPECT_EQ(service["spec"]["clusterIP"], "None");
  EXPECT_EQ(service["spec"]["selector"][kRunUidLabel], run_.uid);
}

TEST_F(ClusterLayoutTest, TheLearnersClaimIsOwnedOnlyWhenItIsNotToBeKept) {
  EXPECT_EQ(layout_.claim_object()["metadata"]["ownerReferences"][0]["uid"], run_.uid);
  EXPECT_EQ(layout_.claim_object()["spec"]["resources"]["requests"]["storage"], "5Gi");
  file_.run.storage.retain = true;
  EXPECT_FALSE(layout_.claim_object()["metadata"].contains("ownerReferences"));
  const auto learner = pod("quickstart-learner-0", Component::learner);
  EXPECT_TRUE(mounts(learner, "/var/lib/swage"));
  EXPECT_TRUE(mounts(learner, "/etc/swage/verdict"));
  EXPECT_EQ(config_of(learner)["threads"], 3);
}

TEST_F(ClusterLayoutTest, ASandboxHasNoNamesNoSecretsAndAUserOfItsOwn) {
  const auto one = pod("sbx-a", Component::sandbox);
  const auto two = pod("sbx-b", Component::sandbox);
  EXPECT_EQ(one["spec"]["dnsPolicy"], "None");
  EXPECT_EQ(one["metadata"]["labels"][kClaimLabel], "warm");
  EXPECT_FALSE(mounts(one, "/etc/swage/internal"));
  EXPECT_EQ(one["spec"]["activeDeadlineSeconds"], 3600 + 7200 + 2400);
  const int user = one["spec"]["securityContext"]["runAsUser"].get<int>();
  EXPECT_GE(user, 20000);
  EXPECT_LE(user, 59998);
  EXPECT_EQ(user % 2, 0);
  EXPECT_THAT(config_of(one).dump(), ::testing::Not(HasSubstr("\"token\"")));
  EXPECT_NE(one["spec"]["securityContext"]["runAsUser"],
            two["spec"]["securityContext"]["runAsUser"]);
}

TEST_F(ClusterLayoutTest, TheAgentsContainerIsAnotherUsersAndOnlyReadsWhatSandboxdShares) {
  const auto made = pod("sbx-a", Component::sandbox);
  const auto& agent = made["spec"]["containers"][1];
  EXPECT_EQ(agent["securityContext"]["runAsUser"].get<int>(),
            made["spec"]["securityContext"]["runAsUser"].get<int>() + 1);
  EXPECT_EQ(agent["securityContext"]["readOnlyRootFilesystem"], true);
  EXPECT_EQ(agent["securityContext"]["allowPrivilegeEscalation"], false);
  std::vector<std::string> writable;
  for (const auto& mount : agent["volumeMounts"])
    if (!mount.value("readOnly", false)) writable.push_back(mount["mountPath"]);
  EXPECT_THAT(writable, ::testing::ElementsAre("/workspace", "/tmp"));
  EXPECT_EQ(config_of(made)["pod"]["work_directory"], "/workspace/task");
}

TEST_F(ClusterLayoutTest, AGpuPodTakesOneGpuAndNoneForTheCpuDevice) {
  const OwnerRef owner{"ProfilingPool", "local", "gpus", "fedcba"};
  const PodSpec spec{"local-1a2b3c4d", "inc", Component::gpu_worker, ""};
  auto pool = file_.pool;
  auto made = gpu_pod(settings_, pool, owner, "redis:6379", spec);
  EXPECT_FALSE(made["spec"]["containers"][0]["resources"]["limits"].contains("nvidia.com/gpu"));
  EXPECT_EQ(made["spec"]["terminationGracePeriodSeconds"], 330);
  EXPECT_EQ(config_of(made)["gpu"], "local-1a2b3c4d");
  EXPECT_EQ(config_of(made)["address"], "local-1a2b3c4d.local.gpus.svc.cluster.local:7070");
  pool.device_kind = DeviceKind::cuda;
  made = gpu_pod(settings_, pool, owner, "redis:6379", spec);
  EXPECT_EQ(made["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], "1");
}

TEST(MustNotReach, NamesTheApiServerTheControllerAndTheNameServerByTheirAddresses) {
  EXPECT_THAT(must_not_reach("https://10.96.0.1:443", "10.1.2.3",
                             "search a.svc\nnameserver 10.96.0.10\noptions ndots:5\n"),
              ::testing::ElementsAre("10.96.0.1:443", "10.1.2.3:7070", "10.96.0.10:53"));
  EXPECT_THAT(must_not_reach("https://[fd00::1]:443", "", ""),
              ::testing::ElementsAre("[fd00::1]:443"));
  EXPECT_THAT(must_not_reach("https://api.example:6443", "host", "nameserver"),
              ::testing::IsEmpty());  // a sandbox resolves no names
}

TEST(ClusterSettingsFile, AWrongFieldIsNamedAndTheLeastIsEnough) {
  test::TempDirectory directory;
  const auto file = directory.path() / "controller.json";
  const json images{{"rollout_worker", "a"},
                    {"policy", "b"},
                    {"learner", "c"},
                    {"gpu_worker", "d"},
                    {"sandbox", "e"}};
  json value{{"service", "c.ns.svc.cluster.local:7070"}, {"images", images}};
  ASSERT_TRUE(write_file_durably(file, value.dump()));
  const auto read = read_cluster_settings(file);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->images.at(Component::sandbox), "e");
  EXPECT_EQ(read->listen, "0.0.0.0:7070");
  value["image"] = "x";
  value["images"].erase("policy");
  ASSERT_TRUE(write_file_durably(file, value.dump()));
  const auto refused = read_cluster_settings(file);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("image is not a field here"));
  EXPECT_THAT(refused.error().text(), HasSubstr("images.policy"));
}

TEST(ClusterSecretsFiles, WhatIsMissingIsNamedWithTheRemedy) {
  test::TempDirectory directory;
  ClusterSettings settings;
  settings.token_file = directory.path() / "token";
  settings.sandbox_key_file = directory.path() / "key";
  settings.redis_directory = directory.path();
  for (const auto* name : {"token", "key", "password"})
    ASSERT_TRUE(write_file_durably(directory.path() / name, "secret\n"));
  EXPECT_THAT(read_cluster_secrets(settings).error(), HasSubstr("mount the Secret"));
  ASSERT_TRUE(write_file_durably(directory.path() / "url", "redis://host\n"));
  const auto read = read_cluster_secrets(settings);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->redis_address, "host:6379");
  EXPECT_EQ(read->token, "secret");
  ASSERT_TRUE(write_file_durably(directory.path() / "url", "host:6379"));
  EXPECT_THAT(read_cluster_secrets(settings).error(), HasSubstr("redis://host:port"));
}

}  // namespace
}  // namespace swage::controller
