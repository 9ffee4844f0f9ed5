#pragma once

#include <optional>
#include <string>

#include "common/k8s/object.hpp"
#include "controller/api/pod_backend.hpp"

namespace swage::controller {

// Labels and annotations of our pods.
inline constexpr const char* kComponentLabel = "swage.dev/component";
inline constexpr const char* kIncarnationLabel = "swage.dev/incarnation";  ///< PodSpec::uid
inline constexpr const char* kClaimLabel = "swage.dev/sandbox";            ///< `warm`, `claimed`
inline constexpr const char* kRolloutAnnotation = "swage.dev/rollout";

/// What the backend keeps of a pod of the Kubernetes API. Pure.
struct PodFacts {
  std::string incarnation;
  std::optional<Component> component;
  bool claimed = false;
  std::string address;  ///< pod IP, empty before it has one
  bool started = false;
  bool ready = false;
  bool ended = false;
  std::optional<int> exit_code;  ///< of the container that failed, else 0
  std::string reason;            ///< why it waits or has ended
  std::string detail;            ///< for people, with the remedy

  static PodFacts from(const k8s::Json& pod);
  PodPhase phase() const;
};

/// What a change of the copy means for whoever watches; nothing if it means nothing. A pod has
/// ended for them when it is gone: only then its name is free.
std::optional<PodEvent> pod_event(const std::string& name, const PodFacts* before,
                                  const PodFacts* after);

}  // namespace swage::controller
