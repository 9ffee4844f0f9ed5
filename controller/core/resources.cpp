#include "controller/api/resources.hpp"

#include "controller/api/pod_backend.hpp"

namespace swage::controller {

const char* component_name(Component component) {
  switch (component) {
    case Component::redis:
      return "redis";
    case Component::gpu_worker:
      return "gpu-worker";
    case Component::policy:
      return "policy";
    case Component::learner:
      return "learner";
    case Component::rollout_worker:
      return "rollout-worker";
    case Component::sandbox:
      return "sandbox";
  }
  return "";
}

std::optional<Component> component_named(const std::string& name) {
  for (const auto one : {Component::redis, Component::gpu_worker, Component::policy,
                         Component::learner, Component::rollout_worker, Component::sandbox})
    if (name == component_name(one)) return one;
  return std::nullopt;
}

const char* device_kind_name(DeviceKind kind) { return kind == DeviceKind::cuda ? "cuda" : "cpu"; }

}  // namespace swage::controller
