#pragma once

#include <string>
#include <vector>

#include "controller/api/pod_backend.hpp"

namespace swage::controller {

/// Which pods a run has, and what stands in their configurations. Pure.
class RunLayout {
 public:
  virtual ~RunLayout() = default;
  virtual std::vector<DesiredPod> desired_pods() const = 0;
  /// JSON (docs/PROCESSES.md), or redis.conf.
  virtual std::string pod_config(const std::string& name, Component component) const = 0;
  /// uid: PodSpec::uid. agent_uid: the user of its tools, drawn for it alone.
  virtual std::string sandbox_config(const std::string& name, const std::string& uid,
                                     const std::string& token, unsigned agent_uid) const = 0;
  /// gRPC target of a pod whose backend does not say one.
  virtual std::string address_of(const std::string& pod) const = 0;
  virtual std::string learner_address() const = 0;
};

}  // namespace swage::controller
