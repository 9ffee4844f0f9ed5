#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swage::sandbox {

/// One thing a container sees. Applied in order; directories above a target are made, mode 0755.
struct Mount {
  enum class Kind {
    read_only,  ///< source, a file or directory, at target
    writable,   ///< source at target
    temporary,  ///< an empty file system of `bytes` at target, mode 0755
    link,       ///< target is a symbolic link to source
  } kind = Kind::read_only;
  std::string source;
  std::string target;
  std::uint64_t bytes = 0;
};

/// A bubblewrap container: own process, network, IPC, UTS and mount namespaces, nothing of the host
/// but what is mounted, its root read-only.
struct ContainerSpec {
  std::string bwrap;              ///< full path of the program
  std::vector<Mount> mounts;      ///< after the system's own
  std::string working_directory;  ///< inside
  std::vector<std::string> command;
  bool user_namespace = true;    ///< where sandboxd is not root
  std::uint32_t inner_uid = 0;   ///< with a user namespace: the id that the container sees
  bool may_switch_user = false;  ///< root only: keeps the capabilities for becoming another user
  bool first_process = false;    ///< the command is process 1, out of its children's reach
};

/// The bubblewrap command line. system: what of the host's own directories is shown.
std::vector<std::string> bwrap_argv(const ContainerSpec& spec, const std::vector<Mount>& system);

/// The limits of one command as arguments of util-linux prlimit, to stand before it.
struct ProcessLimits {
  std::uint64_t address_bytes = 0, file_bytes = 0, cpu_seconds = 0, processes = 0;
};
std::vector<std::string> prlimit_argv(const ProcessLimits& limits);

}  // namespace swage::sandbox
