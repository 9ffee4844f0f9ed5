#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/asio/stop_source.hpp"
#include "common/asio/task.hpp"
#include "common/base/result.hpp"

namespace swage::controller {

/// What a pod runs.
enum class Component { redis, gpu_worker, policy, learner, rollout_worker, sandbox };

const char* component_name(Component component);  ///< `gpu-worker`, …
std::optional<Component> component_named(const std::string& name);

enum class PodPhase {
  pending,    ///< accepted, not started; reported only when something keeps it: `reason`, `detail`
  running,    ///< started, does not serve yet
  ready,      ///< serves
  succeeded,  ///< ended with exit code 0
  failed,     ///< ended otherwise; `exit_code` and `detail` say how
};

/// One pod to create. Names are never used twice at the same time; a uid is never used twice.
struct PodSpec {
  std::string name;
  std::string uid;
  Component component = Component::sandbox;
  std::string config;  ///< text of its configuration (JSON, or redis.conf)
};

/// A pod that was there before this backend: of an earlier controller.
struct LivePod {
  std::string name;
  std::string uid;
  Component component = Component::sandbox;
  bool claimed = false;  ///< claim() was called for it
};

/// A pod that has to run as long as the run does.
struct DesiredPod {
  std::string name;
  Component component = Component::learner;
  std::vector<std::string> after;  ///< names of pods that must be ready before it starts
};

/// What happened to a pod.
struct PodEvent {
  std::string name;
  std::string uid;
  Component component = Component::sandbox;
  PodPhase phase = PodPhase::pending;
  std::optional<int> exit_code;  ///< of an ended pod; absent after a signal
  std::string detail;            ///< for people: "exit code 3", "signal 9 (Killed)", the remedy
  int http_port = 0;             ///< of a ready pod's /metrics, 0 if it has none
  std::int64_t pid = 0;          ///< local backend: process id
  std::string reason = {};       ///< CamelCase: why it is pending or has ended; may be empty
  std::string address = {};      ///< of a ready pod's gRPC; empty: as the layout says
};

enum class PodErrc {
  missing,    ///< the program is not installed: the text says how to get it
  refused,    ///< the backend cannot make it (permission, no resources)
  disk_full,  ///< its files could not be written
  lost,       ///< claim: the pod has ended, or somebody else has it
  not_found,  ///< no pod of that name and uid
};
constexpr FailureKind kind_of(PodErrc code) {
  switch (code) {
    case PodErrc::missing:
    case PodErrc::disk_full:
    case PodErrc::not_found:
    case PodErrc::lost:
      return FailureKind::give_up;
    case PodErrc::refused:
      return FailureKind::retry;
  }
  return FailureKind::give_up;
}
struct PodError {
  PodErrc code = PodErrc::refused;
  std::string message;      ///< for people, with the remedy
  std::string reason = {};  ///< CamelCase, e.g. `QuotaExceeded`; may be empty
};

/// Where pods run: child processes here, or the Kubernetes API. Thread: one strand. Life: outlives
/// its calls; before it goes every pod has been removed.
class PodBackend {
 public:
  virtual ~PodBackend() = default;

  /// Pods of an earlier controller that are still here, once, before anything else is asked. Their
  /// phases follow as events.
  virtual Task<std::vector<LivePod>> adopt(StopSource& stop) = 0;

  /// Starts a pod. Its phases follow as events, the last of them when the name is free again.
  /// Errors: PodErrc.
  virtual Task<Result<void, PodError>> create(PodSpec spec) = 0;

  /// Marks a pod as in use, for ever, so that no later controller takes it for a fresh one.
  /// Errors: lost, not_found, refused.
  virtual Task<Result<void, PodError>> claim(std::string name, std::string uid,
                                             std::string rollout_id) = 0;

  /// Asks a pod to end, and ends it by force after `grace`. Returns when it is gone. A pod of that
  /// name with another uid is left alone: not_found.
  virtual Task<Result<void, PodError>> remove(std::string name, std::string uid,
                                              std::chrono::milliseconds grace) = 0;

  /// The next event, in order; nothing when `stop` is requested. One watcher.
  virtual Task<std::optional<PodEvent>> next_event(StopSource& stop) = 0;
};

}  // namespace swage::controller
