#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/config/process_config.hpp"
#include "sandbox/adapters/confinement.hpp"
#include "sandbox/api/compile_types.hpp"

namespace swage::sandbox {

/// Directories that sandboxd's container and the agent's both mount, at the same paths.
struct PodPlaces {
  std::filesystem::path shared = "/run/swage";  ///< sockets and the agent's programs; it only reads
  std::filesystem::path work = "/workspace/task";
};

/// sandboxd's own fields, beside docs/PROCESSES.md's common ones.
struct SandboxConfig {
  ProcessConfig process;
  std::string pod_uid;               ///< told in Hello
  std::string sandbox_token_sha256;  ///< 64 hex digits; empty: everybody may call
  /// Ours alone: sockets, the pristine files, scratch. Emptied at start. A socket's path in it must
  /// stay below 108 bytes.
  std::filesystem::path root_directory;
  std::filesystem::path object_cache_directory;  ///< shared by a run's sandboxes
  std::filesystem::path header_cache_directory;  ///< precompiled header; default: the one above
  /// The same, made before and only read: default <bin>/../share/swage/sandbox/headers.
  std::filesystem::path installed_header_directory;
  std::filesystem::path template_directory;  ///< default: <bin>/../share/swage/sandbox/template
  Toolchain toolchain;                       ///< {cxx, torch_directory, python}
  std::optional<uid_t> agent_uid;    ///< the agent's user; needs root; default 64006; one a sandbox
  std::optional<uid_t> compile_uid;  ///< the compiler's user; needs root; default 64005
  std::chrono::seconds wall_clock{7200};      ///< of the rollout; the sandbox lives 2,400 s longer
  std::string bubblewrap = "/usr/bin/bwrap";  ///< full path of the program
  bool allow_reduced = false;                 ///< go on without bubblewrap
  /// The agent lives in another container of the pod, as another user; absent: in one of ours.
  std::optional<PodPlaces> pod;
  /// `IP:port` each: if one takes a connection nothing is served, for whatever runs here could too.
  std::vector<std::string> must_not_reach;
  AgentLimits limits;
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;       ///< all the agent's processes together
  std::uint64_t work_bytes = std::uint64_t{256} << 20;       ///< of /workspace/task
  std::uint64_t temporary_bytes = std::uint64_t{512} << 20;  ///< of /tmp
  unsigned compile_slots = 0;  ///< compilers at once on this machine; 0: one a core
};

/// Where an installed sandboxd's own files lie: <bin>/../share/swage/sandbox.
std::filesystem::path installed_share(const std::filesystem::path& program);

/// Reads and checks the file. Every complaint names file and field.
Result<SandboxConfig, ConfigError> read_sandbox_config(const std::filesystem::path& file,
                                                       const std::filesystem::path& program);

}  // namespace swage::sandbox
