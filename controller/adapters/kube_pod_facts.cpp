#include "controller/adapters/kube_pod_facts.hpp"

#include <array>

#include "controller/adapters/pod_ports.hpp"

namespace swage::controller {
namespace {

using k8s::Json;

constexpr int kSignalled = 128;

struct Remedy {
  const char* reason;
  const char* text;
};
/// Why containers wait that do not start by themselves, in the words of kubelets.
constexpr std::array kRemedies{
    Remedy{"ErrImagePull", "check the image's name, the registry and the pull secrets"},
    Remedy{"ImagePullBackOff", "check the image's name, the registry and the pull secrets"},
    Remedy{"ErrImageNeverPull", "load the image on the node, or allow pulls (image_pull_policy)"},
    Remedy{"InvalidImageName", "correct the image's name"},
    Remedy{"CreateContainerConfigError", "make what the message names"},
    Remedy{"CreateContainerError", "see the message; the image may lack the program"},
    Remedy{"RunContainerError", "see the message; the image may lack the program"},
};

const Json& object_at(const Json& value, const char* name) {
  static const Json kNone = Json::object();
  const auto found = value.find(name);
  return found != value.end() && found->is_object() ? *found : kNone;
}
const Json& list_at(const Json& value, const char* name) {
  static const Json kNone = Json::array();
  const auto found = value.find(name);
  return found != value.end() && found->is_array() ? *found : kNone;
}
std::string text_at(const Json& value, const char* name) {
  const auto found = value.find(name);
  return found != value.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string one_line(std::string text) {
  for (auto& c : text)
    if (c == '\n') c = ' ';
  return text;
}

/// A container that waits for something that has to be mended.
void read_waiting(const Json& waiting, const std::string& image, PodFacts& out) {
  const auto reason = text_at(waiting, "reason");
  for (const auto& known : kRemedies) {
    if (reason != known.reason) continue;
    out.reason = reason;
    out.detail =
        "image " + image + ": " + one_line(text_at(waiting, "message")) + "; " + known.text;
  }
}

void read_ended(const Json& ended, PodFacts& out) {
  const int code = ended.value("exitCode", 0);
  if (out.exit_code && *out.exit_code != 0) return;  // the first failure is the reason
  out.exit_code = code;
  out.reason = text_at(ended, "reason");
  out.detail = "exit code " + std::to_string(code);
  if (out.reason == "OOMKilled") {
    out.exit_code.reset();
    out.detail = "killed: it used more memory than its limit; raise resources.limits.memory";
  } else if (code > kSignalled) {
    out.exit_code.reset();
    out.detail = "signal " + std::to_string(code - kSignalled);
  }
  if (const auto said = text_at(ended, "message"); !said.empty()) out.detail += ":\n" + said;
}

void read_condition(const Json& condition, PodFacts& out) {
  const auto type = text_at(condition, "type");
  const auto status = text_at(condition, "status");
  if (type == "Ready") out.ready = status == "True";
  if (type == "PodScheduled" && status == "False") {
    out.reason = text_at(condition, "reason");
    out.detail = one_line(text_at(condition, "message")) +
                 "; add nodes, free some, or ask for less (resources, nodeSelector, tolerations)";
  }
}

}  // namespace

PodFacts PodFacts::from(const Json& pod) {
  PodFacts out;
  const auto& labels = object_at(object_at(pod, "metadata"), "labels");
  out.incarnation = text_at(labels, kIncarnationLabel);
  out.component = component_named(text_at(labels, kComponentLabel));
  out.claimed = text_at(labels, kClaimLabel) == "claimed";
  const auto& status = object_at(pod, "status");
  out.address = text_at(status, "podIP");
  const auto phase = text_at(status, "phase");
  out.ended = phase == "Succeeded" || phase == "Failed";
  out.started = phase == "Running";
  for (const auto& condition : list_at(status, "conditions")) read_condition(condition, out);
  for (const auto& container : list_at(status, "containerStatuses")) {
    const auto& state = object_at(container, "state");
    if (state.contains("terminated")) read_ended(state["terminated"], out);
    if (state.contains("waiting")) read_waiting(state["waiting"], text_at(container, "image"), out);
  }
  if (out.ended && !out.exit_code && out.reason.empty()) {  // evicted, deadline, node lost
    out.reason = text_at(status, "reason");
    out.detail = one_line(text_at(status, "message"));
  }
  return out;
}

PodPhase PodFacts::phase() const {
  if (ended) return exit_code == 0 ? PodPhase::succeeded : PodPhase::failed;
  if (ready && !address.empty()) return PodPhase::ready;
  return started ? PodPhase::running : PodPhase::pending;
}

std::optional<PodEvent> pod_event(const std::string& name, const PodFacts* before,
                                  const PodFacts* after) {
  const auto& facts = after == nullptr ? *before : *after;
  if (!facts.component || facts.incarnation.empty()) return std::nullopt;
  PodEvent out{name,          facts.incarnation, *facts.component,
               facts.phase(), facts.exit_code,   facts.detail};
  out.reason = facts.reason;
  if (after == nullptr) {
    if (!facts.ended) {
      out.phase = PodPhase::failed;
      out.exit_code.reset();
      out.reason = "Deleted";
      out.detail = "the pod was deleted, or its node is gone";
    }
    return out;
  }
  if (facts.ended) return std::nullopt;
  if (facts.phase() == PodPhase::pending && facts.reason.empty() &&
      (before == nullptr || before->reason.empty()))
    return std::nullopt;
  if (before != nullptr && before->phase() == facts.phase() && before->detail == facts.detail)
    return std::nullopt;
  if (facts.phase() == PodPhase::ready) {
    out.address = grpc_at(facts.address);
    out.http_port = kHttpPort;
  }
  return out;
}

}  // namespace swage::controller
