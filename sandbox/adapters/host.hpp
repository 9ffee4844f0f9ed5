#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "sandbox/core/container.hpp"

namespace swage::sandbox {

/// What of the isolation this machine permits. Probed once at start.
struct HostFacts {
  bool root = false;              ///< may become other users and mount without a user namespace
  std::string bwrap;              ///< the program
  bool containers = false;        ///< bubblewrap ran a command in new namespaces
  bool pod = false;               ///< the agent lives in another container of this pod
  std::string container_problem;  ///< what bubblewrap said otherwise, with the remedy
  std::vector<std::filesystem::path> cgroup_parents;  ///< where groups of ours may be made
  std::vector<std::string> missing;                   ///< isolation layers, by name
  std::vector<Mount> system;                          ///< /usr and what belongs to it
  bool full() const { return missing.empty(); }
};

/// In a pod whose other container is the agent's, the kubelet has made what bubblewrap makes
/// elsewhere: namespaces, another user, limits. Nothing is missing then.
HostFacts pod_host();

/// Tries things out: starts one bubblewrap container, makes and removes one control group.
/// Takes about 20 ms; blocks. bwrap: full path of bubblewrap.
HostFacts probe_host(const std::string& bwrap = "/usr/bin/bwrap");

}  // namespace swage::sandbox
