#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/exit_code.hpp"
#include "common/base/time.hpp"
#include "controller/api/pod_backend.hpp"

namespace swage::controller {

/// Whether a pod that ended with this code (docs/PROCESSES.md) would end the same way again.
constexpr bool is_final(int exit_code) {
  return exit_code == exit_code::kBadInput || exit_code == exit_code::kMissing ||
         exit_code == exit_code::kNotWritable;
}

struct RestartPolicy {
  Duration first_delay = std::chrono::milliseconds(500);
  Duration longest_delay = std::chrono::seconds(30);
  Duration forget_after = std::chrono::seconds(60);  ///< running so long resets the delay
  std::size_t budget = 10;                           ///< restarts of one pod within the window
  Duration window = std::chrono::seconds(600);
};

/// Keeps the run's long-lived pods running: starts what is desired and absent, restarts what ended
/// with exponential back-off, gives up when a pod has spent its restart budget or says that no
/// restart helps (exit codes 64 and 69: configuration, something missing; 74: disk full).
/// Pure: told events and `now`, it answers with actions.
class WorkloadReconciler {
 public:
  WorkloadReconciler(std::vector<DesiredPod> desired, RestartPolicy policy);

  struct Start {
    std::string name;
    Component component = Component::learner;
    std::uint32_t restarts = 0;
  };
  /// Why the run cannot go on.
  struct GivenUp {
    std::string pod;
    std::optional<int> exit_code;
    std::string reason;
  };
  /// What to start now. A pod returned here counts as starting until an event says otherwise.
  std::vector<Start> tick(TimePoint now);
  void started(const std::string& name, const std::string& uid);
  /// A pod of an earlier controller. False: no such pod is wanted.
  bool adopted(const std::string& name, const std::string& uid);
  /// The backend could not make it. permanent: no retry will help.
  /// Trying again spends no restart: what refuses it may be mended.
  void start_failed(const std::string& name, const PodError& error, TimePoint now);
  void observed(const PodEvent& event, TimePoint now);
  /// Ended pods of this name are not restarted any more.
  void release(const std::string& name);

  const std::optional<GivenUp>& given_up() const { return given_up_; }
  bool all_ready() const;
  std::uint64_t restarts() const { return restarts_; }

  struct Observed {
    Component component = Component::learner;
    PodPhase phase = PodPhase::pending;
    std::string uid;
    std::uint32_t restarts = 0;
    std::int64_t pid = 0;
    int http_port = 0;
    std::string address;  ///< of its gRPC, empty if its backend does not say
    std::string reason;   ///< what keeps it from starting, CamelCase; empty: nothing known
    std::string detail;   ///< the same for people, with the remedy
  };
  std::map<std::string, Observed> pods() const;

 private:
  struct Pod {
    DesiredPod desired;
    bool released = false;
    bool alive = false;  ///< starting or running
    PodPhase phase = PodPhase::pending;
    std::string uid;
    std::int64_t pid = 0;
    int http_port = 0;
    std::string address, reason, detail;
    std::optional<TimePoint> ready_since;
    TimePoint due;  ///< not to be started before
    Duration delay{};
    std::deque<TimePoint> restarted;
    std::uint32_t restarts = 0;
  };
  void delay(Pod& pod, TimePoint now) const;
  void schedule(Pod& pod, std::optional<int> exit_code, const std::string& detail, TimePoint now);

  std::vector<Pod> pods_;
  RestartPolicy policy_;
  std::optional<GivenUp> given_up_;
  std::uint64_t restarts_ = 0;
};

}  // namespace swage::controller
