#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "controller/adapters/cluster_settings.hpp"
#include "controller/api/resources.hpp"
#include "controller/api/run_layout.hpp"

namespace swage::controller {

/// Who owns what is made: the TrainingRun or the ProfilingPool.
struct OwnerRef {
  std::string kind;
  std::string name;
  std::string name_space;
  std::string uid;
};
nlohmann::json owner_reference(const OwnerRef& owner);

/// A GPU pod is given so long beyond its pool's drainSeconds.
inline constexpr int kBeyondDrainSeconds = 30;

// Labels of what is made for a run or a pool; by the uid it is selected.
inline constexpr const char* kRunUidLabel = "swage.dev/run-uid";
inline constexpr const char* kPoolUidLabel = "swage.dev/pool-uid";

/// The headless Service by whose name an owner's pods are found: `<pod>.<owner>.<namespace>.svc…`.
nlohmann::json service_object(const OwnerRef& owner);
/// What a pod of an owner is called by the others.
std::string pod_dns_name(const OwnerRef& owner, const std::string& pod);

/// Names, configurations and objects of one run's pods in a cluster. Pure.
/// Life: settings and file outlive it.
class ClusterLayout final : public RunLayout {
 public:
  ClusterLayout(const ClusterSettings& settings, const RunFile& file, OwnerRef run,
                std::string redis_address);

  std::vector<DesiredPod> desired_pods() const override;
  std::string pod_config(const std::string& name, Component component) const override;
  std::string sandbox_config(const std::string& name, const std::string& uid,
                             const std::string& token, unsigned agent_uid) const override;
  std::string address_of(const std::string& pod) const override;
  std::string learner_address() const override { return address_of(learner_pod()); }

  std::string learner_pod() const { return run_.name + "-learner-0"; }
  std::string claim_name() const { return run_.name + "-learner"; }
  std::string selector() const { return std::string(kRunUidLabel) + "=" + run_.uid; }
  /// The learner's PersistentVolumeClaim, without an owner when it outlives the run.
  nlohmann::json claim_object() const;
  /// The whole pod.
  nlohmann::json manifest(const PodSpec& spec) const;

 private:
  nlohmann::json common_fields(const std::string& name) const;
  nlohmann::json model_fields() const;
  std::string tokenizer() const;
  void add_run_details(const PodSpec& spec, nlohmann::json& pod) const;
  void add_sandbox_details(nlohmann::json& pod) const;
  void add_agent(nlohmann::json& pod, int user) const;

  const ClusterSettings& settings_;
  const RunFile& file_;
  OwnerRef run_;
  std::string redis_address_;
};

/// Configuration and object of one pod of a pool.
nlohmann::json gpu_pod(const ClusterSettings& settings, const ProfilingPool& pool,
                       const OwnerRef& owner, const std::string& redis_address,
                       const PodSpec& spec);
std::string gpu_config(const ClusterSettings& settings, const ProfilingPool& pool,
                       const OwnerRef& owner, const std::string& redis_address,
                       const std::string& name);

}  // namespace swage::controller
