#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "common/asio/clock.hpp"
#include "common/k8s/client.hpp"
#include "common/k8s/event_recorder.hpp"
#include "controller/adapters/cluster_layout.hpp"
#include "controller/adapters/control_service.hpp"
#include "controller/adapters/dispatch_service.hpp"
#include "controller/app/controller_metrics.hpp"
#include "controller/core/conditions.hpp"

namespace swage::controller {

inline const k8s::ResourceType kTrainingRuns{"swage.dev", "v1alpha1", "trainingruns",
                                             "TrainingRun"};
inline const k8s::ResourceType kProfilingPools{"swage.dev", "v1alpha1", "profilingpools",
                                               "ProfilingPool"};
inline constexpr const char* kFieldManager = "swage-controller";

class PoolKeeper;

/// What the keepers of a leader share. All of it outlives them. Thread: one strand.
struct ClusterWorld {
  asio::any_io_executor strand;
  Clock& clock;
  k8s::Client& client;
  k8s::EventRecorder& events;
  const ClusterSettings& settings;
  const ClusterSecrets& secrets;
  std::filesystem::path share;  ///< share/swage of this program
  DispatchService& dispatch;
  ControlService& control;
  ControllerMetrics& metrics;
  std::uint64_t epoch;  ///< of this leader
  /// The keeper of a pool; null: there is none.
  std::function<PoolKeeper*(const std::string& name_space, const std::string& name)> pool;
  std::function<void(const std::string& type, const nlohmann::json& data)> say;

  TimePoint soon() const { return clock.now() + std::chrono::seconds(10); }
  /// Before a keeper looks again at what nothing would wake it for.
  Task<> next_turn(StopSource& stop) const {
    return clock.sleep_for(std::chrono::seconds(1), stop);
  }
};

/// Repeats `attempt`, which makes a Task<bool>, until that says true or `stop`.
template <class Attempt>
Task<> until_done(const ClusterWorld& world, Attempt attempt, StopSource& stop) {
  while (!stop.stopping() && !co_await attempt()) co_await world.next_turn(stop);
}

/// The object that a keeper looks after, in its newest state. Thread: the world's strand.
class KeptObject {
 public:
  /// object: as the server sent it.
  KeptObject(ClusterWorld& world, k8s::ResourceType type, std::string finalizer, k8s::Json object);

  /// A newer state; null: it is gone.
  void changed(const k8s::Json* object);
  const k8s::Json& json() const { return json_; }
  const OwnerRef& owner() const { return owner_; }
  const k8s::Target& target() const { return target_; }
  bool gone() const { return gone_; }
  /// Somebody wants it deleted: it goes with its finalizers.
  bool deleting() const;

  /// Return when the finalizer is there, or is not; or the object is gone, or at `stop`.
  Task<> add_finalizer(StopSource& stop);
  Task<> take_finalizer(StopSource& stop);

 private:
  Task<bool> set_finalizer(bool there, StopSource& stop);

  ClusterWorld& world_;
  k8s::Json json_;
  OwnerRef owner_;
  k8s::Target target_;
  std::string finalizer_;
  bool gone_ = false;
};

/// Writes the status of one object: at once when its phase or a condition changed, else every five
/// seconds when anything did. A condition keeps the time at which its status changed; each change
/// is an Event too.
class StatusWriter {
 public:
  /// object: as the server sent it.
  StatusWriter(ClusterWorld& world, k8s::ResourceType type, const k8s::Json& object);

  /// status: with `conditions` as condition_json() makes them. False: not written, for now.
  Task<bool> write(k8s::Json status, StopSource& stop);

 private:
  void stamp(k8s::Json& conditions) const;
  void tell(const k8s::Json& conditions);

  ClusterWorld& world_;
  k8s::Target target_;
  k8s::EventSubject subject_;
  std::int64_t generation_ = 0;
  k8s::Json written_;
  std::optional<TimePoint> last_;
};

/// Applies an object; a field that somebody else owns, and every other refusal, is a Trouble.
Task<std::optional<Trouble>> apply_object(ClusterWorld& world, k8s::ResourceType type,
                                          k8s::Json object, StopSource& stop);

}  // namespace swage::controller
