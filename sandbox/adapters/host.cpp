#include "sandbox/adapters/host.hpp"

#include <unistd.h>

#include "common/base/command.hpp"
#include "sandbox/adapters/control_group.hpp"

namespace swage::sandbox {
namespace {

namespace fs = std::filesystem;

/// /usr and the top-level names that lead into it, or directories of their own on a system where
/// they are not merged; of /etc only what programs need to start.
std::vector<Mount> system_mounts() {
  std::vector<Mount> out{{Mount::Kind::read_only, "/usr", "/usr"}};
  for (const char* name : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    std::error_code error;
    if (fs::is_symlink(name, error)) {
      out.push_back({Mount::Kind::link, fs::read_symlink(name, error).string(), name});
    } else if (fs::is_directory(name, error)) {
      out.push_back({Mount::Kind::read_only, name, name});
    }
  }
  for (const char* name : {"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf",
                           "/etc/ld.so.conf.d", "/etc/localtime"}) {
    std::error_code error;
    if (fs::exists(name, error)) out.push_back({Mount::Kind::read_only, name, name});
  }
  return out;
}

void probe_containers(HostFacts& facts) {
  ContainerSpec spec;
  spec.bwrap = facts.bwrap;
  spec.command = {"/usr/bin/true"};
  spec.user_namespace = !facts.root;
  spec.may_switch_user = facts.root;
  if (::access(spec.bwrap.c_str(), X_OK) != 0) {
    facts.container_problem = "bubblewrap is not installed; install the package bubblewrap";
    return;
  }
  const auto ran = run_command(bwrap_argv(spec, facts.system), CommandOutput::both);
  facts.containers = ran.exit_code == 0;
  if (facts.containers) return;
  const auto said = ran.text.substr(0, ran.text.find('\n'));
  facts.container_problem =
      "bubblewrap is not permitted here (" + (said.empty() ? "no message" : said) +
      "); allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
      "user.max_user_namespaces > 0), or run as root with CAP_SYS_ADMIN, or accept less isolation "
      "with spec.evaluation.allowReducedTrust: true (field allow_reduced of sandboxd)";
}

}  // namespace

HostFacts pod_host() {
  HostFacts facts;
  facts.pod = true;
  return facts;
}

HostFacts probe_host(const std::string& bwrap) {
  HostFacts facts;
  facts.bwrap = bwrap;
  facts.root = ::geteuid() == 0;
  facts.system = system_mounts();
  probe_containers(facts);
  facts.cgroup_parents = usable_cgroup_parents();
  if (!facts.containers) facts.missing.emplace_back("namespaces");
  if (!facts.root) facts.missing.emplace_back("agent_user");
  if (facts.cgroup_parents.empty()) facts.missing.emplace_back("cgroups");
  return facts;
}

}  // namespace swage::sandbox
