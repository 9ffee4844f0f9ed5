#include "controller/adapters/cluster_layout.hpp"

#include <charconv>
#include <utility>

#include "common/base/digest.hpp"
#include "common/base/json_text.hpp"
#include "controller/adapters/kube_pod_facts.hpp"
#include "controller/adapters/pod_parts.hpp"
#include "controller/adapters/pod_ports.hpp"
#include "controller/adapters/process_fields.hpp"

namespace swage::controller {
namespace {

using nlohmann::json;

constexpr const char* kInternalSecret = "swage-internal";
constexpr int kWarmSeconds = 3600;
constexpr int kScoringSeconds = 2400;  ///< a sandbox outlives its rollout by this, for the score

// What the two containers of a sandbox share (sandbox/adapters/runner_meeting.hpp).
constexpr const char* kShared = "/run/swage";
constexpr const char* kWork = "/workspace/task";

constexpr const char* kAnyone = "0.0.0.0";

/// Whole cores that a limit gives, at least one; without one: two.
int threads_of(const Resources& resources) {
  const auto cpu = resources.limits.find("cpu");
  if (cpu == resources.limits.end()) return 2;
  int cores = 0;
  const auto& text = cpu->second;
  std::from_chars(text.data(), text.data() + text.size(), cores);
  if (text.ends_with("m")) cores /= 1000;
  return std::max(cores, 1);
}

json redis_fields(const std::string& address) {
  return {{"address", address}, {"password_file", "/etc/swage/redis/password"}};
}
json log_fields() { return {{"level", "info"}, {"format", "json"}}; }
json toolchain_fields() {
  return {{"cxx", "g++"},
          {"torch_directory", std::string(kPython) + "/lib/python3.11/site-packages/torch"},
          {"python", std::string(kPython) + "/bin/python3"}};
}

}  // namespace

ClusterLayout::ClusterLayout(const ClusterSettings& settings, const RunFile& file, OwnerRef run,
                             std::string redis_address)
    : settings_(settings),
      file_(file),
      run_(std::move(run)),
      redis_address_(std::move(redis_address)) {}

std::vector<DesiredPod> ClusterLayout::desired_pods() const {
  std::vector<DesiredPod> out;
  out.push_back({learner_pod(), Component::learner, {}});
  for (int i = 0; i < file_.run.policy.replicas; ++i)
    out.push_back({run_.name + "-policy-" + std::to_string(i), Component::policy, {}});
  for (int i = 0; i < file_.run.rollout_worker_replicas; ++i)
    out.push_back({run_.name + "-rollout-" + std::to_string(i), Component::rollout_worker, {}});
  return out;
}

std::string ClusterLayout::address_of(const std::string& pod) const {
  return grpc_at(pod_dns_name(run_, pod));
}

std::string ClusterLayout::tokenizer() const {
  const auto& source = file_.run.model_source;
  if (source.starts_with("scratch:")) return kShare + source.substr(8) + "/tokenizer.json";
  return source + "/tokenizer.json";
}

json ClusterLayout::common_fields(const std::string& name) const {
  return {{"name", name},
          {"run", run_.name},
          {"run_uid", run_.uid},
          {"listen", grpc_at(kAnyone)},
          {"http", http_at(kAnyone)},
          {"token_file", "/etc/swage/internal/token"},
          {"log", log_fields()}};
}

json ClusterLayout::model_fields() const {
  return {{"source", file_.run.model_source}, {"tokenizer", tokenizer()}};
}

std::string ClusterLayout::pod_config(const std::string& name, Component component) const {
  const auto& run = file_.run;
  auto value = common_fields(name);
  if (component == Component::policy) {
    const bool one_machine = run.learning.preset == learner::Preset::one_machine;
    value.update({{"model", model_fields()},
                  {"learner", learner_address()},
                  {"kv", one_machine ? "recompute" : "keep"},
                  {"threads", threads_of(run.policy.placement.resources)},
                  {"seed", run.seed}});
  } else if (component == Component::learner) {
    auto model = model_fields();
    model["renderer"] = kRenderer;
    value.update({{"out", "/var/lib/swage"},
                  {"model", std::move(model)},
                  {"controller", settings_.service},
                  {"verdict_key_file", "/etc/swage/verdict/key"},
                  {"pool", file_.pool.full_name()},
                  {"preset", learner::to_string(run.learning.preset)},
                  {"stages", stage_fields(run.learning.stages)},
                  {"learning", learning_fields(run.learning.learning)},
                  {"reward", learner::to_string(run.learning.reward)},
                  {"evaluation_rollouts", settings_.evaluation_rollouts},
                  {"seed", run.seed},
                  {"threads", threads_of(run.learner.placement.resources)},
                  {"allow_reduced_trust", run.evaluation.allow_reduced_trust}});
  } else {
    value.update({{"controller", settings_.service},
                  {"learner", learner_address()},
                  {"redis", redis_fields(redis_address_)},
                  {"pool", file_.pool.full_name()},
                  {"capacity", run.rollouts_per_worker},
                  {"tokenizer", tokenizer()},
                  {"renderer", kRenderer},
                  {"teacher_directory", std::string(kShare) + "tasks/builtin-cpu"}});
  }
  return json_text(value, 2) + "\n";
}

std::string ClusterLayout::sandbox_config(const std::string& name, const std::string& uid,
                                          const std::string& token, unsigned) const {
  const json value{{"name", name},
                   {"run", run_.name},
                   {"run_uid", run_.uid},
                   {"listen", grpc_at(kAnyone)},
                   {"log", log_fields()},
                   {"pod_uid", uid},
                   {"sandbox_token_sha256", sha256_hex(token)},
                   {"root_directory", "/build/sandbox"},
                   {"object_cache_directory", "/build/cache"},
                   {"must_not_reach", settings_.must_not_reach},
                   {"pod", {{"shared_directory", kShared}, {"work_directory", kWork}}},
                   {"template_directory", std::string(kShare) + "sandbox/template"},
                   {"toolchain", toolchain_fields()},
                   {"wall_clock_seconds", file_.run.rollouts.wall_clock_seconds},
                   {"allow_reduced", file_.run.evaluation.allow_reduced_trust}};
  return json_text(value, 2) + "\n";
}

json ClusterLayout::claim_object() const {
  json out;
  out["metadata"] = {{"name", claim_name()},
                     {"namespace", run_.name_space},
                     {"labels", {{"swage.dev/run", run_.name}}}};
  if (!file_.run.storage.retain)
    out["metadata"]["ownerReferences"] = json::array({owner_reference(run_)});
  auto& spec = out["spec"];
  spec["accessModes"] = json::array({"ReadWriteOnce"});
  spec["resources"] = {{"requests", {{"storage", file_.run.storage.size}}}};
  if (!file_.run.storage.class_name.empty())
    spec["storageClassName"] = file_.run.storage.class_name;
  return out;
}

json ClusterLayout::manifest(const PodSpec& spec) const {
  static const std::map<Component, const char*> kPrograms{
      {Component::policy, "swage-policy"},
      {Component::learner, "swage-learner"},
      {Component::rollout_worker, "swage-rollout-worker"},
      {Component::sandbox, "swage-sandboxd"}};
  const auto& own = file_.run.sandbox.image;
  const auto& image = spec.component == Component::sandbox && !own.empty()
                          ? own
                          : settings_.images.at(spec.component);
  auto pod = base_pod(settings_, run_, kRunUidLabel, spec, kPrograms.at(spec.component), image);
  if (spec.component == Component::sandbox)
    add_sandbox_details(pod);
  else
    add_run_details(spec, pod);
  return pod;
}

void ClusterLayout::add_run_details(const PodSpec& spec, json& pod) const {
  const auto& run = file_.run;
  pod["spec"]["serviceAccountName"] = settings_.workload_account;
  restrict(pod, kWorkloadUser);
  add_secret(pod, kInternalSecret, "internal");
  const bool gpus = run.device_kind == DeviceKind::cuda;
  if (spec.component == Component::rollout_worker) {
    add_secret(pod, file_.pool.redis_secret, "redis");
    pod["spec"]["terminationGracePeriodSeconds"] = 600;  // what ends within it is handed over
    return;
  }
  const auto& replica = spec.component == Component::learner ? run.learner : run.policy;
  add_placement(pod, replica.placement);
  add_resources(pod, replica.placement.resources, gpus ? replica.gpus : 0, file_.pool.gpu_resource);
  if (!run.model_claim.empty()) {
    pod["spec"]["volumes"].push_back(
        {{"name", "model"},
         {"persistentVolumeClaim", {{"claimName", run.model_claim}, {"readOnly", true}}}});
    main_container(pod)["volumeMounts"].push_back(
        {{"name", "model"}, {"mountPath", run.model_source}, {"readOnly", true}});
  }
  if (spec.component != Component::learner) return;
  add_secret(pod, file_.pool.verdict_secret, "verdict");
  pod["spec"]["terminationGracePeriodSeconds"] = 300;  // it writes a checkpoint
  pod["spec"]["volumes"].push_back(
      {{"name", "run"}, {"persistentVolumeClaim", {{"claimName", claim_name()}}}});
  pod["spec"]["volumes"].push_back(
      {{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", "16Gi"}}}});
  auto& mounts = main_container(pod)["volumeMounts"];
  mounts.push_back({{"name", "run"}, {"mountPath", "/var/lib/swage"}});
  mounts.push_back({{"name", "shm"}, {"mountPath", "/dev/shm"}});
}

void ClusterLayout::add_sandbox_details(json& pod) const {
  const auto& run = file_.run;
  auto& spec = pod["spec"];
  pod["metadata"]["labels"][kClaimLabel] = "warm";
  spec["serviceAccountName"] = settings_.sandbox_account;
  spec["dnsPolicy"] = "None";
  spec["dnsConfig"] = {{"nameservers", json::array({"127.0.0.1"})}};
  spec["terminationGracePeriodSeconds"] = 2;
  spec["activeDeadlineSeconds"] = kWarmSeconds + run.rollouts.wall_clock_seconds + kScoringSeconds;
  if (!settings_.sandbox_priority_class.empty())
    spec["priorityClassName"] = settings_.sandbox_priority_class;
  add_placement(pod, run.sandbox.placement);
  if (run.sandbox.placement.runtime_class.empty() && !settings_.sandbox_runtime_class.empty())
    spec["runtimeClassName"] = settings_.sandbox_runtime_class;
  auto& container = main_container(pod);
  container["ports"] = json::array({{{"name", "grpc"}, {"containerPort", kGrpcPort}}});
  container["readinessProbe"] = {{"tcpSocket", {{"port", "grpc"}}}, {"periodSeconds", 1}};
  add_resources(pod, run.sandbox.sandboxd, 0, "");
  // Process limits count per user over the whole node: users of its own for every sandbox.
  const auto drawn = random_bytes(2);
  const auto number = (static_cast<unsigned>(static_cast<unsigned char>(drawn[0])) << 8U) |
                      static_cast<unsigned char>(drawn[1]);
  const auto user = static_cast<int>(20000 + number % 20000 * 2);
  restrict(pod, user);
  add_scratch(pod, "build", "/build", "4Gi");
  add_scratch(pod, "work", "/workspace", "2Gi");
  add_scratch(pod, "run", kShared, "16Mi");
  spec["volumes"].back()["emptyDir"]["medium"] = "Memory";
  add_agent(pod, user + 1);
}

/// The agent's container: another user, other processes, and only the work directory in common that
/// it may change.
void ClusterLayout::add_agent(json& pod, int user) const {
  auto& spec = pod["spec"];
  spec["volumes"].push_back({{"name", "agent-tmp"}, {"emptyDir", {{"sizeLimit", "1Gi"}}}});
  json agent{{"name", "agent"},
             {"image", main_container(pod)["image"]},
             {"imagePullPolicy", settings_.image_pull_policy},
             {"command", {std::string(kBin) + "swage-sandboxd", "runner", "--meet", kShared}},
             {"terminationMessagePolicy", "FallbackToLogsOnError"},
             {"securityContext", main_container(pod)["securityContext"]}};
  agent["securityContext"]["runAsUser"] = user;
  agent["securityContext"]["runAsGroup"] = user;
  agent["volumeMounts"] =
      json::array({{{"name", "work"}, {"mountPath", "/workspace"}},
                   {{"name", "agent-tmp"}, {"mountPath", "/tmp"}},
                   {{"name", "run"}, {"mountPath", kShared}, {"readOnly", true}}});
  agent["resources"] = resources_object(file_.run.sandbox.agent);
  spec["containers"].push_back(std::move(agent));
}

std::string gpu_config(const ClusterSettings&, const ProfilingPool& pool, const OwnerRef& owner,
                       const std::string& redis_address, const std::string& name) {
  const json value{{"name", name},
                   {"listen", grpc_at(kAnyone)},
                   {"http", http_at(kAnyone)},
                   {"token_file", "/etc/swage/internal/token"},
                   {"log", log_fields()},
                   {"redis", redis_fields(redis_address)},
                   {"pool", pool.full_name()},
                   {"gpu", name},
                   {"address", grpc_at(pod_dns_name(owner, name))},
                   {"device_kind", device_kind_name(pool.device_kind)},
                   {"verdict_key_file", "/etc/swage/verdict/key"},
                   {"python", std::string(kPython) + "/bin/python3"},
                   {"model_host_directory", std::string(kShare) + "model_host"},
                   {"judge_binary", std::string(kBin) + "swage-judge"},
                   {"cache_directory", "/var/cache/swage/gpu-worker"},
                   {"drain_seconds", pool.drain_seconds}};
  return json_text(value, 2) + "\n";
}

json gpu_pod(const ClusterSettings& settings, const ProfilingPool& pool, const OwnerRef& owner,
             const std::string& redis_address, const PodSpec& spec) {
  auto with = spec;
  with.config = gpu_config(settings, pool, owner, redis_address, spec.name);
  const auto& image = pool.image.empty() ? settings.images.at(Component::gpu_worker) : pool.image;
  auto pod = base_pod(settings, owner, kPoolUidLabel, with, "swage-gpu-worker", image);
  pod["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] = "true";
  pod["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "false";
  auto& out = pod["spec"];
  out["serviceAccountName"] = settings.gpu_account;
  out["terminationGracePeriodSeconds"] = pool.drain_seconds + kBeyondDrainSeconds;
  out["securityContext"] = {{"runAsUser", 0}, {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  // The judge's layers: users of their own for the hosts, mounts, limits.
  main_container(pod)["securityContext"] = {
      {"readOnlyRootFilesystem", true},
      {"capabilities",
       {{"drop", json::array({"ALL"})},
        {"add", json::array({"SETUID", "SETGID", "SETPCAP", "KILL", "CHOWN", "DAC_OVERRIDE",
                             "SYS_ADMIN", "SYS_CHROOT"})}}}};
  add_placement(pod, pool.placement);
  add_resources(pod, pool.placement.resources, pool.device_kind == DeviceKind::cuda ? 1 : 0,
                pool.gpu_resource);
  add_secret(pod, kInternalSecret, "internal");
  add_secret(pod, pool.redis_secret, "redis");
  add_secret(pod, pool.verdict_secret, "verdict");
  add_scratch(pod, "cache", "/var/cache/swage", "16Gi");
  if (!settings.python_host_path.empty()) {
    out["volumes"].push_back(
        {{"name", "python"},
         {"hostPath", {{"path", settings.python_host_path}, {"type", "Directory"}}}});
    main_container(pod)["volumeMounts"].push_back(
        {{"name", "python"}, {"mountPath", kPython}, {"readOnly", true}});
  }
  return pod;
}

}  // namespace swage::controller
