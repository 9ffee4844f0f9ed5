#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/time.hpp"
#include "controller/api/pod_backend.hpp"
#include "controller/api/resources.hpp"

namespace swage::controller {

/// What a GPU's pod and its record in the lease queue say.
struct GpuView {
  PodPhase phase = PodPhase::pending;
  std::string lease_state;  ///< idle, leased, quarantined, …; empty: the queue does not know it
};

/// How many GPUs a pool shall have (design leases.md, section 7). Pure.
///   Fixed, External: what `spec.replicas` says. Builtin: demand / outstandingPerGpu within
///   [min, max]; up when that is above the size for 10 s (from 0 at once), at most max(4, size) in
///   30 s; down when the largest of 300 s is below it, at most max(1, size/4) in 60 s and not
///   within 300 s of an up. A difference of 10 % or less is left alone.
class PoolScaler {
 public:
  /// size: pods that are there and stay.
  int wanted(const ProfilingPool& pool, int size, std::uint64_t demand, TimePoint now);

 private:
  std::deque<std::pair<TimePoint, int>> wants_;  ///< of the last 300 s
  std::optional<TimePoint> above_since_, last_up_, last_down_;
};

/// Decides which GPU pods are made and which leave. Pure.
/// Invariant: a pod whose GPU is leased is not ended before `drainSeconds` of waiting for it; its
/// worker then finishes what it has in hand. Who leaves: quarantined, not serving, idle, leased.
class PoolReconciler {
 public:
  struct Actions {
    int create = 0;
    std::vector<std::string> remove;
  };
  Actions tick(const ProfilingPool& pool, const std::map<std::string, GpuView>& gpus,
               std::uint64_t demand, TimePoint now);
  /// Pods that will leave and do not take part in the size.
  std::size_t leaving() const { return leaving_.size(); }

 private:
  PoolScaler scaler_;
  std::map<std::string, TimePoint> leaving_;  ///< chosen, since when
};

}  // namespace swage::controller
