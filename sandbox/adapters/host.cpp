#include "sandbox/adapters/host.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

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

struct Ran {
  int status = -1;
  std::string output;
};

/// Runs a command, blocking, and returns its status and the start of what it printed.
Ran run(const std::vector<std::string>& argv) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return {};
  std::vector<char*> pointers;
  pointers.reserve(argv.size() + 1);
  for (const auto& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe[1], 1);
    ::dup2(pipe[1], 2);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  Ran out;
  std::array<char, 512> buffer{};
  ssize_t got = 0;
  while (child > 0 && (got = ::read(pipe[0], buffer.data(), buffer.size())) > 0)
    if (out.output.size() < 2048) out.output.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(pipe[0]);
  if (child > 0) ::waitpid(child, &out.status, 0);
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
  const auto ran = run(bwrap_argv(spec, facts.system));
  facts.containers = WIFEXITED(ran.status) && WEXITSTATUS(ran.status) == 0;
  if (facts.containers) return;
  auto said = ran.output.substr(0, ran.output.find('\n'));
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
