#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "learner/api/settings.hpp"

namespace swage::controller {

enum class DeviceKind { cuda, cpu };
const char* device_kind_name(DeviceKind kind);  ///< `cuda`, `cpu`
enum class Precision { official, matched };
enum class ScalingMode { fixed, builtin, external };

/// A set of tasks and its share of the groups. set: `builtin-cpu`, `builtin-cuda` or an absolute
/// path.
struct TaskSet {
  std::string set;
  int weight = 1;  ///< 0-1000; 0: never dealt
  bool operator==(const TaskSet&) const = default;
};

struct Rollouts {
  int concurrency = 256;          ///< most rollouts at once
  int max_attempts = 3;           ///< of one rollout, before its group is replaced
  int wall_clock_seconds = 7200;  ///< of one rollout
  bool operator==(const Rollouts&) const = default;
};

/// Requests and limits by resource name, as written (`250m`, `1Gi`).
struct Resources {
  std::map<std::string, std::string> requests;
  std::map<std::string, std::string> limits;
  bool operator==(const Resources&) const = default;
};

/// Where pods run and what they get, in a cluster.
struct Placement {
  Resources resources;
  std::map<std::string, std::string> node_selector;
  std::string tolerations = "[]";  ///< JSON, as a pod has it
  std::string affinity = "{}";     ///< JSON, as a pod has it
  std::string runtime_class;       ///< empty: the cluster's
  bool operator==(const Placement&) const = default;
};

/// Policy servers or learners.
struct ReplicaSpec {
  int replicas = 1;
  int gpus = 1;  ///< of each replica; none for deviceKind cpu
  Placement placement;
  bool operator==(const ReplicaSpec&) const = default;
};

/// The learner's volume.
struct StorageSpec {
  std::string size = "200Gi";
  std::string class_name;  ///< empty: the cluster's default
  bool retain = true;      ///< outlives the run
  bool operator==(const StorageSpec&) const = default;
};

struct SandboxSpec {
  std::string image;  ///< empty: the operator's
  Resources sandboxd;
  Resources agent;
  Placement placement;  ///< without resources
  int warm_min = 4;
  int warm_max = 64;
  bool recycle = false;
  bool operator==(const SandboxSpec&) const = default;
};

struct PoolRef {
  std::string name = "default";
  std::string space;  ///< namespace
  bool operator==(const PoolRef&) const = default;
};
struct EvaluationSpec {
  PoolRef pool;
  int max_leases = 0;  ///< 0: no cap
  Precision precision = Precision::official;
  bool allow_reduced_trust = false;
  bool operator==(const EvaluationSpec&) const = default;
};

/// A training run as the user asked for it, checked, with every default filled in.
struct TrainingRun {
  std::string name;
  std::string space = "default";  ///< namespace
  bool suspend = false;
  DeviceKind device_kind = DeviceKind::cuda;
  std::int64_t seed = 1;
  int weight = 1;  ///< share of GPU leases and of sandbox creation, 1-100
  std::string model_source;
  std::string model_claim;  ///< PersistentVolumeClaim with the model, empty if none
  std::vector<TaskSet> tasks;
  learner::Settings learning;  ///< preset, stages, learning, reward; filled from the preset
  bool no_agent_loop = false;  ///< ablation: one turn, no tools
  Rollouts rollouts;
  int rollout_worker_replicas = 2;
  int rollouts_per_worker = 256;
  ReplicaSpec policy;
  ReplicaSpec learner{1, 8, {}};
  StorageSpec storage;
  SandboxSpec sandbox;
  EvaluationSpec evaluation;
  std::optional<int> ttl_seconds;  ///< after the end, then the object goes
  bool operator==(const TrainingRun&) const = default;
};

struct LeaseSpec {
  int ttl_seconds = 15;
  int margin_seconds = 3;
  int max_hold_seconds = 240;
  bool operator==(const LeaseSpec&) const = default;
};
struct QueueSpec {
  int max_waiting = 4096;
  int max_wait_seconds = 1800;
  bool operator==(const QueueSpec&) const = default;
};
struct ScalingSpec {
  ScalingMode mode = ScalingMode::builtin;
  int min_replicas = 0;
  int max_replicas = 8;
  int outstanding_per_gpu = 2;
  double gpu_hour_cost = 1;
  double rollout_hour_cost = 1;
  double gpu_hours_per_day = 0;  ///< 0: no budget
  bool operator==(const ScalingSpec&) const = default;
};

/// A profiling pool as the user asked for it, checked, with every default filled in.
struct ProfilingPool {
  std::string name;
  std::string space = "default";  ///< namespace
  std::optional<int> replicas;    ///< Fixed mode only
  DeviceKind device_kind = DeviceKind::cuda;
  LeaseSpec lease;
  QueueSpec queue;
  int drain_seconds = 300;
  std::string gpu_resource = "nvidia.com/gpu";  ///< one a pod, none for deviceKind cpu
  std::string image;                            ///< empty: the operator's
  Placement placement = {
      {}, {}, R"([{"effect":"NoSchedule","key":"nvidia.com/gpu","operator":"Exists"}])", "{}", ""};
  std::string redis_secret = "swage-redis";
  std::string verdict_secret = "swage-verdict";
  ScalingSpec scaling;

  std::string full_name() const { return space + "." + name; }
  bool operator==(const ProfilingPool&) const = default;
};

/// What one file holds, with what was filled in or ignored, for people.
struct RunFile {
  TrainingRun run;
  ProfilingPool pool;
  std::vector<std::string> notices;
};

}  // namespace swage::controller
