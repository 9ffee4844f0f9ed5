#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace swage::sandbox {

/// Bounds on each process of the agent; its control group bounds all of them together.
struct AgentLimits {
  std::uint64_t data_bytes = std::uint64_t{4} << 30;  ///< private memory of one process
  std::uint64_t file_bytes = std::uint64_t{256} << 20;
  std::uint64_t processes = 256;
  std::uint64_t cpu_seconds = 1800;
  std::uint64_t open_files = 1024;
};

/// Turns this process for good into the agent's: gives it `owned` directories, then limits, user,
/// no new privileges, parent of orphans, no dumps (nor ptrace by its own children), and a
/// system-call filter: no socket family but AF_UNIX, no io_uring, no namespaces, mounts, ptrace,
/// bpf or perf. uid absent: stays the user it is. Error: which step failed.
Result<void, std::string> confine_to_agent(std::optional<uid_t> uid, const AgentLimits& limits,
                                           const std::vector<std::string>& owned);

}  // namespace swage::sandbox
