#include "controller/adapters/pod_parts.hpp"

#include "controller/adapters/kube_pod_facts.hpp"
#include "controller/adapters/pod_ports.hpp"

namespace swage::controller {

using nlohmann::json;

namespace {

json resource_map(const std::map<std::string, std::string>& quantities) {
  json out = json::object();
  for (const auto& [name, quantity] : quantities) out[name] = quantity;
  return out;
}

}  // namespace

json owner_reference(const OwnerRef& owner) {
  return {{"apiVersion", "swage.dev/v1alpha1"},
          {"kind", owner.kind},
          {"name", owner.name},
          {"uid", owner.uid},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

json service_object(const OwnerRef& owner) {
  const auto* label = owner.kind == "TrainingRun" ? kRunUidLabel : kPoolUidLabel;
  json ports = json::array();
  ports.push_back({{"name", "grpc"}, {"port", kGrpcPort}});
  ports.push_back({{"name", "http"}, {"port", kHttpPort}});
  json out;
  out["metadata"] = {{"name", owner.name},
                     {"namespace", owner.name_space},
                     {"labels", {{label, owner.uid}}},
                     {"ownerReferences", json::array({owner_reference(owner)})}};
  // Pods are dialled before they are ready: the learner serves weights while it starts.
  out["spec"] = {{"clusterIP", "None"},
                 {"publishNotReadyAddresses", true},
                 {"selector", {{label, owner.uid}}},
                 {"ports", ports}};
  return out;
}

std::string pod_dns_name(const OwnerRef& owner, const std::string& pod) {
  return pod + "." + owner.name + "." + owner.name_space + ".svc.cluster.local";
}

json& main_container(json& pod) { return pod["spec"]["containers"][0]; }

json base_pod(const ClusterSettings& settings, const OwnerRef& owner, const char* uid_label,
              const PodSpec& spec, const std::string& program, const std::string& image) {
  json pod;
  auto& metadata = pod["metadata"];
  metadata["name"] = spec.name;
  metadata["namespace"] = owner.name_space;
  metadata["labels"] = {
      {"app.kubernetes.io/name", "swage"},
      {"app.kubernetes.io/component", component_name(spec.component)},
      {"app.kubernetes.io/managed-by", "swage-controller"},
      {owner.kind == "TrainingRun" ? "swage.dev/run" : "swage.dev/pool", owner.name},
      {uid_label, owner.uid},
      {kComponentLabel, component_name(spec.component)},
      {kIncarnationLabel, spec.uid}};
  metadata["annotations"] = {{kConfigAnnotation, spec.config}};
  metadata["ownerReferences"] = json::array({owner_reference(owner)});

  auto& out = pod["spec"];
  out["automountServiceAccountToken"] = false;
  out["enableServiceLinks"] = false;
  out["restartPolicy"] = "Never";  // the operator restarts, by what the exit code says
  out["hostname"] = spec.name;
  out["subdomain"] = owner.name;
  json container{
      {"name", "main"},
      {"image", image},
      {"imagePullPolicy", settings.image_pull_policy},
      {"command", {kBin + program, "--config", std::string(kConfigFolder) + "/config.json"}},
      {"terminationMessagePolicy", "FallbackToLogsOnError"},
      {"env", json::array({{{"name", "HOME"}, {"value", "/tmp"}}})}};
  container["ports"] = json::array({{{"name", "grpc"}, {"containerPort", kGrpcPort}},
                                    {{"name", "http"}, {"containerPort", kHttpPort}}});
  container["readinessProbe"] = {{"httpGet", {{"path", "/readyz"}, {"port", "http"}}},
                                 {"periodSeconds", 1},
                                 {"timeoutSeconds", 5}};
  container["volumeMounts"] =
      json::array({{{"name", "config"}, {"mountPath", kConfigFolder}, {"readOnly", true}}});
  out["containers"] = json::array({container});
  json item{{"path", "config.json"},
            {"fieldRef",
             {{"fieldPath", "metadata.annotations['" + std::string(kConfigAnnotation) + "']"}}}};
  out["volumes"] =
      json::array({{{"name", "config"}, {"downwardAPI", {{"items", json::array({item})}}}}});
  for (const auto& secret : settings.image_pull_secrets)
    out["imagePullSecrets"].push_back({{"name", secret}});
  add_scratch(pod, "tmp", "/tmp", "4Gi");
  return pod;
}

void add_secret(json& pod, const std::string& secret, const std::string& folder) {
  // The group of the pod may read, nobody else.
  pod["spec"]["volumes"].push_back(
      {{"name", folder}, {"secret", {{"secretName", secret}, {"defaultMode", 0440}}}});
  main_container(pod)["volumeMounts"].push_back(
      {{"name", folder}, {"mountPath", "/etc/swage/" + folder}, {"readOnly", true}});
}

void add_scratch(json& pod, const std::string& name, const std::string& path,
                 const std::string& limit) {
  pod["spec"]["volumes"].push_back({{"name", name}, {"emptyDir", {{"sizeLimit", limit}}}});
  main_container(pod)["volumeMounts"].push_back({{"name", name}, {"mountPath", path}});
}

void add_placement(json& pod, const Placement& placement) {
  auto& spec = pod["spec"];
  if (!placement.node_selector.empty()) spec["nodeSelector"] = placement.node_selector;
  if (auto list = json::parse(placement.tolerations); !list.empty())
    spec["tolerations"] = std::move(list);
  if (auto affinity = json::parse(placement.affinity); !affinity.empty())
    spec["affinity"] = std::move(affinity);
  if (!placement.runtime_class.empty()) spec["runtimeClassName"] = placement.runtime_class;
}

json resources_object(const Resources& resources) {
  return {{"requests", resource_map(resources.requests)},
          {"limits", resource_map(resources.limits)}};
}

void add_resources(json& pod, const Resources& resources, int gpus,
                   const std::string& gpu_resource) {
  auto out = resources_object(resources);
  if (gpus > 0) out["limits"][gpu_resource] = std::to_string(gpus);
  main_container(pod)["resources"] = std::move(out);
}

void restrict(json& pod, int user) {
  pod["spec"]["securityContext"] = {{"runAsNonRoot", true},
                                    {"runAsUser", user},
                                    {"runAsGroup", user},
                                    {"fsGroup", user},
                                    {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  main_container(pod)["securityContext"] = {{"allowPrivilegeEscalation", false},
                                            {"readOnlyRootFilesystem", true},
                                            {"capabilities", {{"drop", json::array({"ALL"})}}}};
}

}  // namespace swage::controller
