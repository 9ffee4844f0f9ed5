#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "gpu_pool/judge/adapters/host.hpp"

namespace swage::judge {

/// How to make a host.
struct HostOrder {
  Role role = Role::eager;
  std::string device = "cpu";        ///< kind of device that its tensors lie on
  std::string workspace;             ///< folder it sees as /workspace
  std::vector<int> cpus;             ///< processors it may run on
  std::size_t memory_bytes = 0;      ///< address space beyond the zygote's; 0: no limit
  std::vector<std::string> without;  ///< layers left out, in tests: `namespaces`, `seccomp`
};

/// Asks a zygote for hosts over a client socket. Thread: one. Errors are texts for people.
class ZygoteClient {
 public:
  explicit ZygoteClient(Descriptor socket) : socket_(std::move(socket)) {}
  Result<HostParts, std::string> spawn(const HostOrder& order);

 private:
  Descriptor socket_;
};

}  // namespace swage::judge
