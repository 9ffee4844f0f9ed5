#pragma once

#include <filesystem>
#include <string>

namespace swage::controller {

/// What the command line of `swage-controller cluster` says (docs/PROCESSES.md).
struct ClusterConfig {
  std::filesystem::path config;      ///< JSON
  std::filesystem::path kubeconfig;  ///< empty: the pod's own account
  std::string name;                  ///< of this pod
  std::string name_space;            ///< of this pod
  std::string address;               ///< host that others reach this process by
};

/// Runs the operator until a signal. Returns the process's exit code.
int run_cluster(const ClusterConfig& config);

}  // namespace swage::controller
